"""A PDF with text, made from nothing."""


def pdf_of(pages):
    """One page for each list of lines."""
    objects = ["<< /Type /Catalog /Pages 2 0 R >>", "", "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>"]
    kids = []
    for lines in pages:
        text = "BT /F1 11 Tf 50 740 Td 14 TL " + " ".join("({}) Tj T*".format(line.replace("\\", "\\\\").replace("(", "\\(").replace(")", "\\)")) for line in lines) + " ET"
        kids.append(f"{len(objects) + 1} 0 R")
        objects.append(f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 800] /Contents {len(objects) + 2} 0 R /Resources << /Font << /F1 3 0 R >> >> >>")
        objects.append(f"<< /Length {len(text)} >> stream\n{text}\nendstream")
    objects[1] = f"<< /Type /Pages /Kids [{' '.join(kids)}] /Count {len(kids)} >>"
    out = b"%PDF-1.4\n"
    places = []
    for i, body in enumerate(objects, 1):
        places.append(len(out))
        out += f"{i} 0 obj {body} endobj\n".encode("latin-1", "replace")
    table = "".join(f"{at:010} 00000 n \n" for at in places)
    return out + f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n{table}trailer << /Size {len(objects) + 1} /Root 1 0 R >>\nstartxref\n{len(out)}\n%%EOF\n".encode()
