#include "report/html_style.h"

namespace longhaul {

std::string_view page_css() {
  return R"(*{box-sizing:border-box}
html{-webkit-text-size-adjust:100%;scroll-behavior:smooth}
body{margin:0;background:var(--paper);color:var(--ink);
font:16px/1.55 system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif;font-variant-numeric:tabular-nums}
main,header.top,footer{max-width:1160px;margin:0 auto;padding:0 20px}
header.top{padding-top:44px}
h1{font-size:clamp(26px,5vw,36px);line-height:1.15;letter-spacing:-.018em;margin:0 0 10px;overflow-wrap:anywhere}
h2{font-size:22px;line-height:1.25;letter-spacing:-.01em;margin:56px 0 6px;padding-top:18px;border-top:1px solid var(--rule)}
h3{font-size:17px;margin:36px 0 2px;overflow-wrap:anywhere}
p{margin:6px 0 14px;max-width:74ch}
.lede{font-size:18px;color:var(--muted);margin-bottom:18px}
.note,.rule{color:var(--muted);font-size:14.5px}
.rule b{color:var(--ink);font-weight:600}
nav{display:flex;flex-wrap:wrap;gap:6px 18px;font-size:15px}
a{color:var(--c1);text-decoration-thickness:1px;text-underline-offset:3px}
.warn{border-left:3px solid var(--bad);background:var(--panel);padding:8px 14px;margin:14px 0;font-size:15px;max-width:none}
.scroll{overflow-x:auto;margin:10px 0 6px;-webkit-overflow-scrolling:touch;
background:linear-gradient(270deg,var(--paper) 40%,transparent) right/44px 100% no-repeat local,
linear-gradient(270deg,rgba(90,100,114,.35),transparent) right/14px 100% no-repeat scroll}
table{border-collapse:separate;border-spacing:0;font-size:14.5px;line-height:1.25}
th{font-weight:600;text-align:left;vertical-align:bottom}
th,td{padding:4px 9px;border-bottom:1px solid var(--grid);white-space:nowrap}
thead th{border-bottom:1px solid var(--muted);color:var(--muted);font-size:13.5px}
.scripted th[data-first]{cursor:pointer}
.scripted th[data-first]:hover,th[aria-sort]{color:var(--ink)}
th[aria-sort=ascending]::after{content:" \2191"}
th[aria-sort=descending]::after{content:" \2193"}
tbody th{font-weight:500;vertical-align:middle}
tr>th:first-child{position:sticky;left:0;background:var(--paper);z-index:1;padding-left:0}
td{text-align:right}
td.text{text-align:left}
td.wrap{white-space:normal;min-width:220px;max-width:460px;overflow-wrap:anywhere}
td.none{color:var(--muted);text-align:center}
td small{display:block;color:var(--muted);font-size:11.5px;font-weight:400}
thead th.num{text-align:right}
tbody.apart tr:first-child>*{border-top:2px solid var(--rule)}
tbody.apart th{font-style:italic;color:var(--muted)}
td.good{background:color-mix(in srgb,var(--good) calc(var(--a)*1%),transparent)}
td.bad{background:color-mix(in srgb,var(--bad) calc(var(--a)*1%),transparent)}
td.real{font-weight:700}
td.unsure{color:var(--muted)}
.picks{display:grid;gap:12px;grid-template-columns:repeat(auto-fit,minmax(min(100%,240px),1fr));margin:14px 0 6px}
.picks>div{background:var(--panel);border-radius:8px;padding:12px 16px}
.picks h3{font-size:13.5px;font-weight:600;color:var(--muted);margin:0 0 4px}
.picks b{display:block;font-size:18px;line-height:1.3;overflow-wrap:anywhere}
.picks span{display:block;font-size:14px;color:var(--muted);overflow-wrap:anywhere}
#verdict h2{border-top:0;padding-top:0;margin-top:24px}
#verdict+nav{margin-top:26px}
.tools{margin:12px 0 0;font-size:15px;color:var(--muted)}
input{font:inherit;color:var(--ink);background:var(--panel);border:1px solid var(--rule);border-radius:6px;padding:4px 10px;width:220px}
:not(.scripted)>body .js{display:none}
.charts{display:grid;gap:26px 36px;grid-template-columns:repeat(auto-fill,minmax(min(100%,430px),1fr));margin:16px 0}
.maps{display:grid;gap:20px 26px;grid-template-columns:repeat(auto-fill,minmax(min(100%,300px),1fr));margin:16px 0}
.chart{display:block;width:100%;height:auto;max-width:560px}
.maps .chart{max-width:400px}
dl{display:grid;grid-template-columns:max-content 1fr;gap:3px 20px;margin:10px 0;font-size:15px}
dt{color:var(--muted)}
dd{margin:0;overflow-wrap:anywhere;min-width:0}
code{font:13.5px/1.5 ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;overflow-wrap:anywhere}
details{border-bottom:1px solid var(--grid);padding:8px 0}
details[open]{padding-bottom:20px}
summary{cursor:pointer;color:var(--muted);font-size:15px}
summary b{color:var(--c1);font-size:16px;font-weight:600;margin-right:8px}
.key{display:flex;flex-wrap:wrap;align-items:center;gap:6px 14px;font-size:14px;color:var(--muted);margin:8px 0}
.ramp{display:inline-block;width:150px;height:12px;border-radius:2px;
background:linear-gradient(90deg,var(--bad),var(--mid) 50%,var(--good));border:1px solid var(--rule)}
footer{margin-top:64px;padding-bottom:48px;color:var(--muted);font-size:14px}
@media(max-width:560px){body{font-size:15.5px}.lede{font-size:16.5px}h2{margin-top:44px}dl{grid-template-columns:1fr;gap:0}dd{margin-bottom:8px}
tbody th{max-width:150px;white-space:normal;overflow-wrap:break-word}}
@media print{.scroll{overflow:visible}nav,.tools,details:not([open]){display:none}}
)";
}

}  // namespace longhaul
