package config

import (
	"embed"
	"strings"
	"sync"

	"github.com/mcp-tools/mcp-tools/internal/chat/services"
)

//go:embed docs.txt
var docsFile embed.FS

// docs returns what each setting is for, by the name of its section's type and
// its own name, as in "Server.http". The texts are in a file of their own, since
// they are too long for tags.
var docs = sync.OnceValue(func() map[string]string {
	all := make(map[string]string)
	text, err := docsFile.ReadFile("docs.txt")
	if err != nil {
		return nil // impossible: the file is part of the program
	}
	section, key := "", ""
	for line := range strings.Lines(string(text)) {
		line = strings.TrimRight(line, "\r\n")
		switch name, text, found := strings.Cut(line, ": "); {
		case strings.HasPrefix(line, "# "):
			section, key = line[2:], ""
		case section == "" || line == "":
		case strings.HasPrefix(line, "  "):
			all[key] += " " + strings.TrimSpace(line)
		case found:
			key = section + "." + name
			all[key] = strings.Replace(text, "{services}", services.Doc(name), 1)
		}
	}
	return all
})
