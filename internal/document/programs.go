package document

import "os/exec"

// A Program is a program that readers use if it is installed.
type Program struct {
	Names   []string // one of them is enough; the best first
	Package string   // of Debian
	For     string   // its users
}

// Programs returns the programs that readers use.
func Programs() []Program {
	return []Program{
		{[]string{"tesseract"}, "tesseract-ocr", "text in scans"},
		{[]string{"soffice", "catdoc", "antiword"}, "libreoffice-writer-nogui or catdoc", "doc"},
		{[]string{"soffice", "xls2csv"}, "libreoffice-calc-nogui or catdoc", "xls"},
		{[]string{"soffice", "catppt"}, "libreoffice-impress-nogui or catdoc", "ppt"},
	}
}

// Find returns the first of the names that is installed; "" if none is.
func (p Program) Find() string {
	for _, name := range p.Names {
		if _, err := exec.LookPath(name); err == nil {
			return name
		}
	}
	return ""
}

// installed returns the installed version of each program. Another version makes other
// readings.
func installed() (names []string) {
	for _, p := range Programs() {
		names = append(names, p.Find())
	}
	return names
}
