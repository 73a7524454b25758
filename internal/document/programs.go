package document

import "os/exec"

// A Program is one of those that readers use where they are installed.
type Program struct {
	Names   []string // one of them is enough
	Package string   // of Debian
	For     string   // what cannot be read without it, or not as well
}

// Programs returns the programs that readers use.
func Programs() []Program {
	return []Program{
		{[]string{"pdftohtml"}, "poppler-utils", "PDF faster and more exactly; without it PDF is read all the same"},
		{[]string{"tesseract"}, "tesseract-ocr", "text in scans and pictures"},
		{[]string{"soffice", "catdoc", "antiword"}, "libreoffice-writer-nogui or catdoc",
			"doc, the format of Word before 2007"},
		{[]string{"soffice", "xls2csv"}, "libreoffice-calc-nogui or catdoc", "xls, the format of Excel before 2007"},
		{[]string{"soffice", "catppt"}, "libreoffice-impress-nogui or catdoc",
			"ppt, the format of PowerPoint before 2007"},
	}
}

// Installed returns the paths of the programs that are there. The sandbox looks for programs in
// the same directories.
func Installed() []string {
	var paths []string
	for _, p := range Programs() {
		for _, name := range p.Names {
			if path, err := exec.LookPath(name); err == nil {
				paths = append(paths, path)
			}
		}
	}
	return paths
}
