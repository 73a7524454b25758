package readers_test

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"image"
	"image/png"
	"slices"
	"strings"
	"testing"

	"github.com/xuri/excelize/v2"

	"github.com/mcp-tools/mcp-tools/internal/document"
	"github.com/mcp-tools/mcp-tools/internal/document/write"
)

// workbook returns a workbook with a format, a formula and a second sheet.
func workbook(t *testing.T) []byte {
	t.Helper()
	f := excelize.NewFile()
	defer f.Close()
	style, err := f.NewStyle(&excelize.Style{NumFmt: 4, Font: &excelize.Font{Bold: true}})
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.NewSheet("Budget")
	for _, err := range []error{
		err,
		f.SetSheetRow("Sheet1", "A1", &[]any{"name", "price"}),
		f.SetSheetRow("Sheet1", "A2", &[]any{"tea", 2.5}),
		f.SetSheetRow("Sheet1", "A3", &[]any{"milk", 1.5}),
		f.SetCellStyle("Sheet1", "B2", "B3", style),
		f.SetCellFormula("Sheet1", "D1", "SUM(B2:B9)"),
		f.SetCellStr("Budget", "A1", "x"),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	var b bytes.Buffer
	if err := f.Write(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// withParts returns a zip file with other parts: new ones, and others in the place of parts of the same name.
func withParts(t *testing.T, content []byte, parts map[string]string) []byte {
	t.Helper()
	var b bytes.Buffer
	to := zip.NewWriter(&b)
	from, err := zip.NewReader(bytes.NewReader(content), int64(len(content)))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range from.File {
		if _, ok := parts[f.Name]; !ok {
			if err := to.Copy(f); err != nil {
				t.Fatal(err)
			}
		}
	}
	for name, text := range parts {
		w, err := to.Create(name)
		if err == nil {
			_, err = w.Write([]byte(text))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := to.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestWorkbooksAreChanged(t *testing.T) {
	const head = "| name | price |  | "
	for _, test := range []struct{ name, values, rows, want string }{
		{"a number keeps its format", `{"B2":1234.5}`, "", head + "1236 |\n| --- | --- | --- | --- |\n| tea | 1,234.50 |  |  |\n| milk | 1.50 |"},
		{"a text", `{"A2":"=black tea"}`, "", `=black tea`},
		{"an empty cell", `{"B3":null}`, "", head + "2.5 |"},
		{"a formula and its value", `{"C2":{"formula":"=B2*2"}}`, "", "| tea | 2.50 | 5 |"},
		{"a truth", `{"C2":true}`, "", "| tea | 2.50 | TRUE |"},
		{"a date", `{"C2":"2026-11-28"}`, "", "| tea | 2.50 | 2026-11-28 |"},
		{"another format", `{"B2":{"value":0.256,"format":"0.0%"}}`, "", "| tea | 25.6% |"},
		{"another sheet", `{"budget!$B$1":7}`, "", "| x | 7 |"},
		{"a list of rows", "", `[["jam",3],["rice",{"formula":"=B2+1"}]]`, head + "10.5 |"},
		{"the format of the row above", "", `[["jam",3]]`, "| jam | 3.00 |"},
		{"objects by the head", "", `[{"price":4,"name":"jam"}]`, "| jam | 4.00 |"},
		{"CSV", "", "jam,3\nrice,4", "| jam | 3.00 |  |  |\n| rice | 4.00 |"},
		{"a new sheet", "", `{"New":[["a"],["b"]]}`, "| a |\n| --- |\n| b |"},
		{"both", `{"A2":"coffee"}`, `[["jam",3]]`, "| coffee | 2.50 |  |  |\n| milk | 1.50 |  |  |\n| jam | 3.00 |"},
	} {
		t.Run(test.name, func(t *testing.T) {
			made, err := written(t, document.XLSX, write.Source{From: [][]byte{workbook(t)}, Values: json.RawMessage(test.values), Rows: test.rows})
			if err != nil {
				t.Fatal(err)
			}
			if got := readBack(t, document.XLSX, made.Content); !strings.Contains(strings.ReplaceAll(got, `\`, ""), test.want) || len(made.Notes) > 0 {
				t.Errorf("got %q, want %q, notes %q", got, test.want, made.Notes)
			}
		})
	}
}

// TestTablesGrow appends rows below a table of Excel, and below rows that formulas and names end with.
func TestTablesGrow(t *testing.T) {
	f, err := excelize.OpenReader(bytes.NewReader(workbook(t)))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, err := range []error{
		f.AddTable("Sheet1", &excelize.Table{Range: "A1:B3", Name: "Prices"}),
		f.SetCellFormula("Budget", "B1", "SUM(Sheet1!$B$2:$B$3)"),
		f.SetCellFormula("Budget", "B2", "SUM(B2:B3)+Sheet1!B3"), // neither ends with the rows of the other sheet
		f.SetDefinedName(&excelize.DefinedName{Name: "all_prices", RefersTo: "Sheet1!$B$2:$B$3"}),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	var b bytes.Buffer
	if err := f.Write(&b); err != nil {
		t.Fatal(err)
	}
	made, err := written(t, document.XLSX, write.Source{From: [][]byte{b.Bytes()}, Rows: `[["a",1],["b",2]]`})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{`the table "Prices" has the new rows`, "these end where the rows ended before, and do not have the new rows: " +
		`the name all_prices, Budget!B1; to extend a formula send its cell in "values"`}
	if !slices.Equal(made.Notes, want) {
		t.Errorf("notes %q", made.Notes)
	}
	part := partOf(t, made.Content, "xl/tables/table1.xml")
	if strings.Count(part, `ref="A1:B5"`) != 2 || strings.Contains(part, "A1:B3") { // of the table and its filter
		t.Errorf("table: %s", part)
	}
	content := withParts(t, b.Bytes(), map[string]string{
		"xl/tables/table1.xml": strings.Replace(partOf(t, b.Bytes(), "xl/tables/table1.xml"), " ref=", ` totalsRowCount="1" ref=`, 1)})
	if made, err = written(t, document.XLSX, write.Source{From: [][]byte{content}, Rows: `[["a",1]]`}); err != nil {
		t.Fatal(err)
	}
	if len(made.Notes) != 2 || !strings.Contains(made.Notes[0], "row of totals") || !strings.Contains(partOf(t, made.Content, "xl/tables/table1.xml"), "A1:B3") {
		t.Errorf("with a row of totals: notes %q", made.Notes)
	}
	// A sum below the rows stays above the new ones.
	if made, err = written(t, document.XLSX, write.Source{Rows: `[["n"],[1],[2],[{"formula":"=SUM(A2:A3)"}]]`}); err == nil {
		made, err = written(t, document.XLSX, write.Source{From: [][]byte{made.Content}, Rows: `[[3]]`})
	}
	if err != nil || len(made.Notes) != 1 || !strings.Contains(made.Notes[0], "Sheet1!A4") {
		t.Errorf("a sum: %+v, %v", made, err)
	}
}

func TestWorkbooksThatCannotBeChanged(t *testing.T) {
	types := partOf(t, workbook(t), "[Content_Types].xml")
	for _, test := range []struct {
		name, values, rows string
		parts              map[string]string
		kind               document.Kind
		want               string
	}{
		{"nothing", "", "", nil, document.ErrBroken, "nothing is to be changed"},
		{"no sheet", `{"None!A1":1}`, "", nil, document.ErrBroken, "Budget"},
		{"no cell", `{"price":1}`, "", nil, document.ErrBroken, "no cell"},
		{"no value", `{"A1":[1]}`, "", nil, document.ErrBroken, "not a value"},
		{"no object", `[1]`, "", nil, document.ErrBroken, "object"},
		{"an unknown column", "", `[{"colour":1}]`, nil, document.ErrBroken, "colour"},
		{"macros", `{"A1":1}`, "", map[string]string{"xl/vbaProject.bin": "x"}, document.ErrBroken, "macros"},
		{"a type with macros", `{"A1":1}`, "", map[string]string{"[Content_Types].xml": strings.Replace(types, "spreadsheetml.sheet.main", "ms-excel.sheet.macroEnabled.main", 1)},
			document.ErrBroken, "macros"},
		{"a bomb", `{"A1":1}`, "", map[string]string{"xl/media/bomb.bin": strings.Repeat("0", 8<<20)}, document.ErrTooBig, "times its size"},
		{"half of a sheet", `{"A1":1}`, "", map[string]string{"xl/worksheets/sheet1.xml": "<worksheet><sheetData><row"}, document.ErrBroken, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := written(t, document.XLSX, write.Source{From: [][]byte{withParts(t, workbook(t), test.parts)}, Values: json.RawMessage(test.values), Rows: test.rows})
			if !errors.Is(err, test.kind) || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %s %q", err, test.kind, test.want)
			}
		})
	}
}

func TestExternalLinksOfWorkbooksStayInert(t *testing.T) {
	from := withParts(t, workbook(t), map[string]string{
		"xl/externalLinks/externalLink1.xml": `<externalLink xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"/>`,
		"xl/externalLinks/_rels/externalLink1.xml.rels": `<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">` +
			`<Relationship Id="rId1" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/externalLinkPath" Target="file:///c:/x.xlsx" TargetMode="External"/></Relationships>`,
	})
	made, err := written(t, document.XLSX, write.Source{From: [][]byte{from}, Values: json.RawMessage(`{"A2":"x"}`)})
	if err != nil {
		t.Fatal(err)
	}
	if len(made.Notes) != 1 || !strings.Contains(made.Notes[0], "externalLinkPath") {
		t.Errorf("notes: %q", made.Notes)
	}
	if got := partOf(t, made.Content, "xl/externalLinks/_rels/externalLink1.xml.rels"); !strings.Contains(got, "file:///c:/x.xlsx") {
		t.Errorf("the link is %s", got)
	}
}

// template returns a Word document with this body.
func template(t *testing.T, body string) []byte {
	t.Helper()
	made, err := written(t, document.DOCX, write.Source{Markdown: "x"})
	if err != nil {
		t.Fatal(err)
	}
	return withParts(t, made.Content, map[string]string{"word/document.xml": `<?xml version="1.0"?><w:document xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"><w:body>` +
		body + `</w:body></w:document>`})
}

// runs returns a paragraph with a run for each text.
func runs(texts ...string) string {
	s := "<w:p>"
	for i, text := range texts {
		s += fmt.Sprintf(`<w:r><w:rPr><w:sz w:val="%d"/></w:rPr><w:t xml:space="preserve">%s</w:t></w:r>`, 20+i, text)
	}
	return s + "</w:p>"
}

func TestTemplatesAreFilledIn(t *testing.T) {
	table := "<w:tbl><w:tr><w:tc>" + runs("name") + "</w:tc><w:tc>" + runs("price") + "</w:tc></w:tr><w:tr><w:tc>" + runs("{{items.na", "me}}") + "</w:tc><w:tc>" +
		runs("{{ items.price }}") + "</w:tc></w:tr></w:tbl>"
	head := "| name | price |\n| --- | --- |"
	for _, test := range []struct{ name, body, values, want string }{
		{"a name", runs("Dear {{name}},"), `{"name":"Ann"}`, "Dear Ann,"},
		{"split over runs", runs("Dear {", "{na", "me}", "}, hello"), `{"name":"Ann"}`, "Dear Ann, hello"},
		{"two in a run", runs("{{a}} and {{b}}"), `{"a":1,"b":true}`, "1 and true"},
		{"a path", runs("{{client.city}}"), `{"client":{"city":"Köln"}}`, "Köln"},
		{"characters of XML", runs("{{a}}"), `{"a":"1 < 2 & 3"}`, "1 < 2 & 3"},
		{"a value like a placeholder", runs("{{a}}"), `{"a":"{{b}}","b":"no"}`, "{{b}}"},
		{"rows", table, `{"items":[{"name":"tea","price":2.5},{"name":"milk","price":1}]}`, head + "\n| tea | 2.5 |\n| milk | 1 |"},
		{"no rows", table, `{"items":[]}`, head},
		{"paragraphs", runs("{{items}}"), `{"items":["one","two"]}`, "one\n\ntwo"},
		{"a null", runs("a{{b}}c"), `{"b":null}`, "ac"},
	} {
		t.Run(test.name, func(t *testing.T) {
			made, err := written(t, document.DOCX, write.Source{From: [][]byte{template(t, test.body)}, Values: json.RawMessage(test.values)})
			if err != nil {
				t.Fatal(err)
			}
			if got := readBack(t, document.DOCX, made.Content); flat(got) != flat(test.want) {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
	t.Run("the look of the first run", func(t *testing.T) {
		made, err := written(t, document.DOCX, write.Source{From: [][]byte{template(t, runs("a {{x", "}} b"))}, Values: json.RawMessage(`{"x":"one\ntwo","y":1}`)})
		if err != nil {
			t.Fatal(err)
		}
		want := `<w:p><w:r><w:rPr><w:sz w:val="20"/></w:rPr><w:t xml:space="preserve">a one</w:t><w:br/><w:t xml:space="preserve">two</w:t></w:r>` +
			`<w:r><w:rPr><w:sz w:val="21"/></w:rPr><w:t xml:space="preserve"> b</w:t></w:r></w:p>`
		if got := partOf(t, made.Content, "word/document.xml"); !strings.Contains(got, want) || len(made.Notes) != 1 {
			t.Errorf("got %s, notes %q", got, made.Notes)
		}
	})
}

func pngOf(t *testing.T) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, 20, 10))); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestPicturesOfTemplates fills in a picture twice, and fills in the result again.
func TestPicturesOfTemplates(t *testing.T) {
	source := write.Source{Pictures: map[string][]byte{"logo.png": pngOf(t)},
		Values: json.RawMessage(`{"logo":{"picture":"logo.png","width":4},"rows":[{"p":{"picture":"logo.png"}}],"name":"\u0000Ann\u0000"}`),
		From:   [][]byte{template(t, runs("a {{logo}} b {{name}} {{later}}")+runs("{{rows.p}}"))}}
	made, err := written(t, document.DOCX, source)
	if err != nil {
		t.Fatal(err)
	}
	source.From, source.Values = [][]byte{made.Content}, json.RawMessage(`{"later":{"picture":"logo.png"}}`)
	if made, err = written(t, document.DOCX, source); err != nil {
		t.Fatal(err)
	}
	part, rels := partOf(t, made.Content, "word/document.xml"), partOf(t, made.Content, "word/_rels/document.xml.rels")
	if strings.Count(part, `r:embed="rIdfilled1"`) != 2 || strings.Count(part, `r:embed="rIdfilled2"`) != 1 || !strings.Contains(part, `<wp:extent cx="1440000"`) {
		t.Errorf("document: %s", part)
	}
	for _, id := range []string{"rIdfilled1", "rIdfilled2"} {
		if strings.Count(rels, `Id="`+id+`"`) != 1 {
			t.Errorf("relations: %s", rels)
		}
	}
	if got := readBack(t, document.DOCX, made.Content); strings.Count(got, "![") != 3 || !strings.Contains(got, "Ann") {
		t.Errorf("read back: %q", got)
	}
	if partOf(t, made.Content, "word/media/filled2.png") != string(pngOf(t)) {
		t.Error("the picture is another one")
	}
}

func TestTemplatesThatAreRefused(t *testing.T) {
	link := func(kind, target string) string {
		return `<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="rId1" ` +
			`Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/` + kind + `" Target="` + target + `" TargetMode="External"/></Relationships>`
	}
	for _, test := range []struct {
		name, values string
		parts        map[string]string
		kind         document.Kind
		want         string
	}{
		{"macros", `{"name":1}`, map[string]string{"word/vbaProject.bin": "x"}, document.ErrBroken, "macros"},
		{"a template elsewhere", `{"name":1}`, map[string]string{"word/_rels/settings.xml.rels": link("attachedTemplate", "https://example.com/x.dotm")}, document.ErrBroken, "attachedTemplate"},
		{"a picture elsewhere", `{"name":1}`, map[string]string{"word/_rels/header1.xml.rels": link("image", "https://example.com/x.png")}, document.ErrBroken, "image"},
		{"a link to a file", `{"name":1}`, map[string]string{"word/_rels/document.xml.rels": link("hyperlink", "file:///etc/passwd")}, document.ErrBroken, "hyperlink"},
		{"a field in pieces", `{"name":1}`, map[string]string{"word/document.xml": `<w:document xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"><w:body><w:p>` +
			`<w:r><w:fldChar w:fldCharType="begin"/></w:r><w:r><w:instrText> dd</w:instrText></w:r><w:r><w:instrText>eauto c:\\cmd.exe </w:instrText></w:r>` +
			`<w:r><w:fldChar w:fldCharType="end"/></w:r><w:r><w:t>{{name}}</w:t></w:r></w:p></w:body></w:document>`}, document.ErrBroken, "field DDEAUTO"},
		{"a field in a comment", `{"name":1}`, map[string]string{"word/comments.xml": `<w:comments><w:fldSimple w:instr=" INCLUDETEXT &quot;\\\\x\\y&quot; "/></w:comments>`}, document.ErrBroken, "field INCLUDETEXT"},
		{"a bomb", `{"name":1}`, map[string]string{"word/media/bomb.bin": strings.Repeat("0", 8<<20)}, document.ErrTooBig, "times its size"},
		{"entities", `{"name":1}`, map[string]string{"word/document.xml": `<!DOCTYPE x [<!ENTITY a "b">]><w:p><w:t>{{name}}</w:t></w:p>`}, document.ErrBroken, "entities"},
		{"not closed", `{"name":1}`, map[string]string{"word/document.xml": `<w:p><w:t>{{name}}</w:p></w:t>`}, document.ErrBroken, "not closed"},
		{"deep", `{"name":1}`, map[string]string{"word/document.xml": strings.Repeat("<w:p>", 500)}, document.ErrBroken, "deep"},
		{"a part outside", `{"name":1}`, map[string]string{"../../x": "x"}, document.ErrBroken, "deceive"},
		{"no values", ``, nil, document.ErrBroken, `"name"`},
		{"other values", `{"x":1}`, nil, document.ErrBroken, `"name"`},
		{"no object", `[1]`, nil, document.ErrBroken, "object"},
		{"a long list", `{"name":[` + strings.Repeat("1,", 10_000) + `1]}`, nil, document.ErrTooBig, "elements"},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := written(t, document.DOCX, write.Source{From: [][]byte{withParts(t, template(t, runs("{{name}}")), test.parts)}, Values: json.RawMessage(test.values)})
			if !errors.Is(err, test.kind) || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %s %q", err, test.kind, test.want)
			}
		})
	}
}
