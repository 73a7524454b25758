package config

import (
	"embed"
	"reflect"
	"strings"
)

// Documented is a section with texts about its settings in a file settings.txt, since they are too long
// for tags:
//
//	# Settings: text about the section; Settings is the name of its Go type
//	timeout: text about the setting timeout; it may be continued
//	  in indented lines
//
// The file also has the texts of the sections in it that are declared in the same package.
type Documented interface {
	// SettingTexts returns the content of the file, as Texts does.
	SettingTexts() string
}

//go:embed settings.txt
var house embed.FS

// Texts returns the content of the file settings.txt in files.
func Texts(files embed.FS) string {
	text, err := files.ReadFile("settings.txt")
	if err != nil {
		return "" // a test fails: each setting has a text
	}
	return string(text)
}

// texts has texts about sections and settings, by the path of the package and the name of the type,
// and for settings a dot and their name.
type texts map[string]string

// textsOf returns the texts of the sections in root.
func textsOf(root reflect.Type) texts {
	ts := make(texts)
	ts.add(reflect.TypeFor[Server]().PkgPath(), Texts(house))
	ts.visit(root)
	return ts
}

// visit adds the texts of a section and of the sections in it.
func (ts texts) visit(t reflect.Type) {
	if section, ok := reflect.Zero(t).Interface().(Documented); ok {
		ts.add(t.PkgPath(), section.SettingTexts())
	}
	switch kindOf(t) {
	case isSection:
		for i := range t.NumField() {
			if field := t.Field(i); field.IsExported() {
				ts.visit(field.Type)
			}
		}
	case isList, isMap:
		ts.visit(t.Elem())
	}
}

func (ts texts) add(pkg, file string) {
	section, key := "", ""
	for line := range strings.Lines(file) {
		line = strings.TrimRight(line, "\r\n")
		name, text, found := strings.Cut(line, ": ")
		switch {
		case strings.HasPrefix(line, "# "):
			section = pkg + "." + strings.TrimPrefix(name, "# ")
			if key = section; found {
				ts[key] = text
			}
		case section == "" || line == "":
		case strings.HasPrefix(line, "  "):
			ts[key] += " " + strings.TrimSpace(line)
		case found:
			key = section + "." + name
			ts[key] = text
		}
	}
}

// of returns the text about a setting of a section.
func (ts texts) of(section reflect.Type, f field) string {
	for _, text := range []string{f.doc, ts[named(section)+"."+f.name]} {
		if text != "" {
			return text
		}
	}
	return ts[named(f.typ)]
}

func named(t reflect.Type) string { return t.PkgPath() + "." + t.Name() }
