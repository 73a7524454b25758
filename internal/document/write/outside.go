package write

import (
	"encoding/xml"
	"slices"
	"strings"

	"github.com/mcp-tools/mcp-tools/internal/text"
)

// reaching finds functions that start programs or send data when the workbook is opened or calculated.
var reaching = text.Pattern(`(?i)(?:^|[^\p{L}\p{N}_.])(?:_xlfn\.|_xlws\.|_xludf\.)*` +
	`(DDE|CALL|EXEC|REGISTER|REGISTER\.ID|RTD|WEBSERVICE|IMAGE|SQL\.REQUEST|IMPORT(?:XML|DATA|HTML|RANGE|FEED))\s*\(`)

// elsewhere finds references to another workbook, such as [prices.xlsx]Sheet1!A1 and 'C:\prices.xlsx'!Sum.
var elsewhere = text.Pattern(`\[[^\[\]]*\][^\[\]!'()+\-*/,;:=<>&^ ]*!|'(?:[^']|'')*[\[\]\\/](?:[^']|'')*'!`)

// checkFormula refuses a formula that is too long, starts programs, or leads out of the workbook.
func checkFormula(at, formula string) error {
	if len(formula) > maxFormula {
		return broken("cell %s: a formula has at most %d characters", at, maxFormula)
	}
	code := withoutTexts(formula)
	why := ""
	switch found := reaching().FindStringSubmatch(code); {
	case found != nil:
		why = "the function " + strings.ToUpper(found[1])
	case strings.Contains(code, "|"):
		why = "DDE, which starts programs"
	case elsewhere().MatchString(code):
		why = "a reference to another workbook"
	default:
		return nil
	}
	return broken("cell %s: the formula has %s, and would lead out of the workbook when it is opened; write the value in its place", at, why)
}

// withoutTexts returns a formula without its texts. Names of sheets stay: a quotation mark in them begins no text.
func withoutTexts(formula string) string {
	var b strings.Builder
	var quote rune
	for _, r := range formula {
		switch {
		case quote == 0 && (r == '"' || r == '\''):
			quote = r
		case r == quote:
			quote = 0
		}
		if quote == '"' || r == '"' && quote == 0 {
			r = ' '
		}
		b.WriteRune(r)
	}
	return b.String()
}

// loadingFields are the fields of Word that load other files or start programs.
var loadingFields = []string{"DATABASE", "DDE", "DDEAUTO", "IMPORT", "INCLUDE", "INCLUDEPICTURE", "INCLUDETEXT", "LINK", "RD"}

// loading returns the fields of the document that load other files or start programs, as kinds such as "field DDEAUTO".
func (in *input) loading() (kinds []string) {
	for _, name := range in.names {
		if !strings.HasPrefix(name, "word/") || !strings.HasSuffix(name, ".xml") {
			continue
		}
		part, err := in.Read(name)
		if err != nil {
			continue // open has read it
		}
		for _, field := range fieldsOf(string(part)) {
			field = strings.ToUpper(field)
			if slices.Contains(loadingFields, field) && !slices.Contains(kinds, "field "+field) {
				kinds = append(kinds, "field "+field)
			}
		}
	}
	return kinds
}

// fieldsOf returns the names of the fields in a part of a Word document.
func fieldsOf(part string) (names []string) {
	d := xml.NewDecoder(strings.NewReader(part))
	add := func(code string) {
		if words := strings.Fields(code[:min(len(code), 1000)]); len(words) > 0 {
			names = append(names, words[0])
		}
	}
	open := []string{""} // the code of fields, which are nested
	inside := false
	for {
		token, err := d.RawToken()
		if err != nil {
			for _, code := range open {
				add(code)
			}
			return names
		}
		switch token := token.(type) {
		case xml.StartElement:
			inside = token.Name.Local == "instrText"
			for _, a := range token.Attr {
				switch {
				case token.Name.Local == "fldSimple" && a.Name.Local == "instr":
					add(a.Value)
				case token.Name.Local == "fldChar" && a.Name.Local == "fldCharType" && a.Value == "begin":
					open = append(open, "")
				case token.Name.Local == "fldChar" && a.Name.Local == "fldCharType" && a.Value == "end" && len(open) > 1:
					add(open[len(open)-1])
					open = open[:len(open)-1]
				}
			}
		case xml.CharData:
			if inside {
				code := strings.TrimLeft(open[len(open)-1]+string(token), " \t\r\n")
				open[len(open)-1] = code[:min(len(code), 100)] // the name is at the beginning
			}
		case xml.EndElement:
			inside = false
		}
	}
}
