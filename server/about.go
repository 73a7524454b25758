package server

import (
	"encoding/json"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcp-tools/mcp-tools/internal/jsonrpc"
	"github.com/mcp-tools/mcp-tools/internal/text"
)

// maxAbout is the most bytes that the audit log keeps of the main argument of a call.
const maxAbout = 200

// aboutWeight returns the weight of an argument as the subject of a call; 0 for arguments that
// are not recorded, such as texts and contents. Names that models use instead of ours count as
// ours.
func aboutWeight(name string) int {
	switch name {
	case "command", "cmd", "argv":
		return 9
	case "url", "uri", "patch":
		return 8
	case "path", "file", "file_path", "filename", "paths":
		return 7
	case "pattern", "query", "q":
		return 6
	case "to", "target", "targets", "chat_id", "agent":
		return 5
	case "key", "name", "names", "skill":
		return 4
	case "id", "call", "job", "task_id":
		return 3
	case "question", "task", "code":
		return 2
	case "timezone":
		return 1
	}
	return 0
}

// aboutLine returns the result of about, and computes it once.
func (c *call) aboutLine() string {
	c.aboutOnce.Do(func() { c.aboutText = c.about() })
	return c.aboutText
}

// about returns the first line of the argument that a call is about, such as its command, path, address, query or
// recipient, after the action or method of the call. It is scrubbed.
func (c *call) about() string {
	act, most, value := "", 0, []byte(nil)
	if !jsonrpc.Members(c.Args, func(name string, one []byte) {
		switch weight := aboutWeight(name); {
		case name == "action" || name == "method":
			act = textOf(one)
		case weight > most && len(one) > 2: // more than "" and []
			most, value = weight, one
		}
	}) {
		return ""
	}
	// The whole text is scrubbed, because half of a key matches no pattern.
	all := c.server.scrub.Text(textOf(value))
	if strings.HasPrefix(all, "*** Begin Patch") {
		_, all, _ = strings.Cut(all, "\n")
	}
	all = strings.TrimLeft(all, " \t\r\n")
	line, _, _ := strings.Cut(all, "\n")
	if act != "" {
		line = c.server.scrub.Text(act) + " " + strings.TrimSpace(line)
	}
	return text.Clip(strings.TrimSpace(line), maxAbout)
}

// textOf returns a JSON text, or the texts of a list with spaces between them. Other values are written as JSON.
func textOf(value []byte) string {
	var several []string
	switch {
	case len(value) == 0:
		return ""
	case value[0] == '"':
		if one, err := jsontext.AppendUnquote(nil, value); err == nil {
			return string(one)
		}
	case value[0] == '[' && json.Unmarshal(value, &several) == nil:
		return strings.Join(several, " ")
	}
	return string(value)
}
