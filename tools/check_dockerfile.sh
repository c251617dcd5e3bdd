#!/usr/bin/env bash
# check_dockerfile.sh: runs the instructions of packaging/Dockerfile in fresh chroots, in their order, for machines without
# Docker. Then it starts the image's command as the image's user, with nano as the model, and waits for /health.
# tools/chroots.sh says what it needs.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. tools/chroots.sh
enter_namespace "$@"

declare -A stages
stage="" user=0 entrypoint=() command=()
environment=()

words_of() { python3 -c 'import json, sys; print("\n".join(json.loads(sys.argv[1])))' "$1"; }

copy() {
  if [[ $1 == --from=* ]]; then
    cp -a "$folder/${stages[${1#--from=}]}$2/." "$folder/$stage$3"
  else
    [ "$1 $2" = ". /src" ] || { echo "error: COPY $* is not known here" >&2; exit 1; }
    source_tree "$stage"
  fi
}

instruction() {
  local name=$1 rest=$2 words
  read -ra words <<<"$rest"
  case $name in
    FROM)
      [[ ${words[0]} == debian:12* ]] || { echo "error: FROM $rest is not known here" >&2; exit 1; }
      stage=image-${#stages[@]}
      stages[${words[2]:-last}]=$stage
      step "FROM $rest"
      system "$stage" bookworm
      if [ -n "${LONGHAUL_CCACHE:-}" ]; then packages "$stage" ccache; fi ;;
    RUN)
      step "RUN ${rest:0:60} ..."
      inside "$stage" /bin/sh -c "$rest" >"$folder/$stage.run.log" 2>&1 ||
        { tail -20 "$folder/$stage.run.log"; echo "error: RUN $rest" >&2; exit 1; } ;;
    COPY) step "COPY $rest"; copy "${words[@]}" ;;
    USER) user=${words[0]} ;;
    ENV) environment+=("${words[@]}") ;;
    ENTRYPOINT) mapfile -t entrypoint < <(words_of "$rest") ;;
    CMD) mapfile -t command < <(words_of "$rest") ;;
    VOLUME | EXPOSE | STOPSIGNAL) ;;
    *) echo "error: $name is not known here" >&2; exit 1 ;;
  esac
}

# Comments are left out and continued lines joined.
while IFS= read -r line; do
  [ -z "$line" ] || instruction "${line%% *}" "${line#* }"
done < <(grep -v '^ *#' packaging/Dockerfile | sed -e ':a' -e '/\\$/N; s/\\\n */ /; ta')

step "${entrypoint[*]} ${command[*]}, as user $user"
port=$((RANDOM % 20000 + 20000))
mapfile -t arguments < <(printf '%s\n' "${entrypoint[@]}" "${command[@]}" |
  sed -e "s/0.0.0.0:8080/127.0.0.1:$port/" -e "s#/models/model.gguf#nano#")
chroot "$folder/$stage" setpriv --reuid="$user" --regid="$user" --clear-groups env -i PATH=/usr/bin "${environment[@]}" \
  "${arguments[@]}" -t 1 >"$folder/$stage.serve.log" 2>&1 &
server=$!
for _ in {1..60}; do
  if python3 -c "import urllib.request; print(urllib.request.urlopen('http://127.0.0.1:$port/health').read().decode())" 2>/dev/null; then
    kill "$server"
    wait "$server" || true
    step "the server of the image answers"
    exit 0
  fi
  sleep 1
done
cat "$folder/$stage.serve.log"
kill "$server" 2>/dev/null || true
echo "error: the server of the image did not answer" >&2
exit 1
