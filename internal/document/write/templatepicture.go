package write

import (
	"encoding/json"
	"fmt"
	"path"
	"strings"
)

const (
	emuPerCentimetre = 360_000
	widestPicture    = 16 * emuPerCentimetre // in a template, whose page is not known
	highestPicture   = 22 * emuPerCentimetre
)

// A drawn is a picture that a template shows: {"picture":"logo.png","width":4}.
type drawn struct {
	id, name string // of the relation, and of the part
	cx, cy   int
}

// picture returns the mark of a picture in a text: two characters that no text of a document has.
func (t *template) picture(v map[string]any) (string, bool) {
	name, ok := v["picture"].(string)
	size, kind, err := measure(t.pictures[name])
	if !ok || err != nil || size.Width <= 0 || size.Height <= 0 {
		return "", false
	}
	w, h := float64(size.Width)*emuPerPixel, float64(size.Height)*emuPerPixel
	scale := 1.0
	if number, ok := v["width"].(json.Number); ok {
		if cm, err := number.Float64(); err == nil && cm > 0 {
			scale = cm * emuPerCentimetre / w
		}
	}
	scale = min(scale, widestPicture/w, highestPicture/h)
	part, ok := t.media[name]
	for n := len(t.media) + 1; !ok; n++ {
		part, ok = fmt.Sprintf("word/media/filled%d.%s", n, kind), true
		for _, ext := range []string{"png", "jpeg", "gif"} {
			ok = ok && !t.in.Has(fmt.Sprintf("word/media/filled%d.%s", n, ext)) // of an earlier filling
		}
	}
	t.media[name] = part
	t.drawn = append(t.drawn, drawn{"rId" + strings.TrimSuffix(path.Base(part), path.Ext(part)), part, max(1, int(w*scale)), max(1, int(h*scale))})
	return fmt.Sprintf("\x00%d\x00", len(t.drawn)-1), true
}

// draw returns the element for the mark of a picture, between two texts of a run.
func (t *template) draw(mark, begin string) string {
	var n int
	if _, err := fmt.Sscan(mark, &n); err != nil || n >= len(t.drawn) {
		return ""
	}
	d := t.drawn[n]
	t.shown[d.name] = true
	return fmt.Sprintf(`</w:t><w:drawing><wp:inline xmlns:wp="http://schemas.openxmlformats.org/drawingml/2006/wordprocessingDrawing" `+
		`distT="0" distB="0" distL="0" distR="0"><wp:extent cx="%d" cy="%d"/><wp:docPr id="%d" name="Picture %[3]d"/>`+
		`<a:graphic xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main"><a:graphicData uri="http://schemas.openxmlformats.org/drawingml/2006/picture">`+
		`<pic:pic xmlns:pic="http://schemas.openxmlformats.org/drawingml/2006/picture"><pic:nvPicPr><pic:cNvPr id="%[3]d" name="Picture %[3]d"/><pic:cNvPicPr/></pic:nvPicPr>`+
		`<pic:blipFill><a:blip xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships" r:embed="%[4]s"/><a:stretch><a:fillRect/></a:stretch></pic:blipFill>`+
		`<pic:spPr><a:xfrm><a:off x="0" y="0"/><a:ext cx="%[1]d" cy="%[2]d"/></a:xfrm><a:prstGeom prst="rect"><a:avLst/></a:prstGeom></pic:spPr>`+
		`</pic:pic></a:graphicData></a:graphic></wp:inline></w:drawing>`, d.cx, d.cy, 90_000+n, d.id) + begin
}

// relate adds the pictures that a part shows to its relations, to the types and to the parts of the document.
func (t *template) relate(part string, replaced map[string]string) error {
	if len(t.shown) == 0 {
		return nil
	}
	dir, file := path.Split(part)
	rels, types := dir+"_rels/"+file+".rels", "[Content_Types].xml"
	texts := map[string]string{rels: relations(), types: ""}
	for name := range texts {
		if text, ok := replaced[name]; ok {
			texts[name] = text
		} else if t.in.Has(name) {
			text, err := t.in.Read(name)
			if err != nil {
				return err
			}
			texts[name] = string(text)
		}
	}
	for source, name := range t.media {
		if !t.shown[name] {
			continue
		}
		ext := strings.TrimPrefix(path.Ext(name), ".")
		replaced[name] = string(t.pictures[source])
		id := "rId" + strings.TrimSuffix(path.Base(name), "."+ext)
		for at, add := range map[string]string{
			rels:  `<Relationship Id="` + id + `" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/image" Target="/` + name + `"/>`,
			types: `<Default Extension="` + ext + `" ContentType="image/` + ext + `"/>`,
		} {
			if at == types && strings.Contains(strings.ToLower(texts[at]), `extension="`+ext+`"`) {
				continue
			}
			end := strings.LastIndex(texts[at], "</")
			if end < 0 {
				return broken("the part %.60q of the template is not valid", at)
			}
			texts[at] = texts[at][:end] + add + texts[at][end:]
		}
	}
	for name, text := range texts {
		replaced[name] = text
	}
	clear(t.shown)
	return nil
}
