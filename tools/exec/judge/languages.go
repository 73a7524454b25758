package judge

import (
	"encoding/base64"
	"strings"
	"unicode/utf16"

	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// goTool judges the go command.
func goTool(j *judge, s *scope, c call) stream {
	args := c.rest()
	for len(args) > 1 && args[0].is("-C") {
		args = args[2:]
	}
	if len(args) == 0 {
		return stream{}
	}
	for i, a := range args[1:] {
		switch name, text, _ := strings.Cut("-"+strings.TrimLeft(a.text, "-"), "="); name {
		case "-exec", "-toolexec", "-overlay", "-vettool":
			if !strings.HasPrefix(a.text, "-") {
				continue
			}
			if text == "" && i+2 < len(args) {
				text = args[i+2].text
			}
			j.hit(helper, "go "+a.shown())
			j.glimpse(text)
		case "-o":
			if i+2 < len(args) && a.is("-o") {
				j.write(s, args[i+2], "builds")
			}
		}
	}
	sub := args[0].text
	_, operands := flags(args[1:])
	switch {
	case sub == "run" && len(operands) > 0 && strings.Contains(operands[0].text, "@"), sub == "install" && strings.Contains(joinArgs(operands).text, "@"), sub == "get":
		j.hit(install, joinArgs(c.args).shown())
	case sub == "env" && (hasFlag(args, "-w") || hasFlag(args, "-u")):
		j.raise(tool.Runs, "changes settings of go outside the workspace")
	case among(" version list doc env help bug ", sub):
	case among(" fmt mod work fix ", sub):
		j.raise(tool.Writes, "go "+sub)
	case sub == "clean":
		j.raise(tool.Destroys, "go clean removes what was built")
	case among(" build test run vet generate install tool telemetry ", sub):
		j.develops("runs code: go " + sub)
	default:
		j.raise(tool.Runs, "runs go "+args[0].shown())
	}
	return stream{}
}

// power judges PowerShell, whose options may be cut short.
func (in interpreter) power(j *judge, s *scope, c call) stream {
	j.always = false
	j.raise(tool.Runs, "runs PowerShell")
	args := c.rest()
	for i, a := range args {
		name := strings.ToLower(strings.TrimLeft(a.text, "-/"))
		if name == "" || name == strings.ToLower(a.text) || i+1 >= len(args) {
			continue
		}
		switch {
		case strings.HasPrefix("encodedcommand", name), name == "ec":
			text, ok := decodePower(args[i+1].text)
			if !ok {
				j.hit(decoded, args[i+1].shown())
				return stream{}
			}
			j.powerText(text)
		case strings.HasPrefix("command", name):
			j.powerText(joinArgs(args[i+1:]).text)
		}
	}
	if s.in.from == exactly {
		j.powerText(s.in.text)
	}
	return stream{}
}

// powerText looks for what is worst in PowerShell code.
func (j *judge) powerText(text string) {
	lower := strings.ToLower(text)
	switch {
	case containsAny(lower, "downloadstring", "invoke-webrequest", "iwr ", "net.webclient", "invoke-restmethod") && containsAny(lower, "iex", "invoke-expression"):
		j.hit(remoteCode, text)
	case containsAny(lower, "tcpclient"):
		j.hit(remoteHand, text)
	case strings.Contains(lower, "remove-item") && strings.Contains(lower, "-recurse"):
		j.hit(removeTree, text)
	case containsAny(lower, "format-volume", "clear-disk"):
		j.hit(makeFS, text)
	case containsAny(lower, "stop-computer", "restart-computer"):
		j.hit(powerOff, text)
	}
	j.glimpse(text)
}

// decodePower decodes base64 of UTF-16, least byte first.
func decodePower(text string) (string, bool) {
	raw, err := base64.StdEncoding.DecodeString(text)
	if err != nil || len(raw)%2 != 0 {
		return "", false
	}
	units := make([]uint16, len(raw)/2)
	for i := range units {
		units[i] = uint16(raw[2*i]) | uint16(raw[2*i+1])<<8
	}
	return string(utf16.Decode(units)), true
}

// windowsShell judges cmd /c.
func windowsShell(j *judge, s *scope, c call) stream {
	j.always = false
	j.raise(tool.Runs, "runs cmd")
	text := strings.ToLower(joinArgs(c.rest()).text)
	if containsAny(text, "del /f", "del /q", "del /s", "rmdir /s", "rd /s", "erase /") {
		j.hit(removeTree, text)
	}
	if containsAny(text, "format c:", "format d:", "diskpart") {
		j.hit(makeFS, text)
	}
	for _, a := range c.rest() {
		j.glimpse(a.text)
	}
	return stream{}
}

// interactive judges editors, debuggers and data bases: what they are told can
// start anything.
func interactive(j *judge, s *scope, c call) stream {
	j.always = false
	args := c.rest()
	if len(args) == 1 && (args[0].is("--version") || args[0].is("-V") || args[0].is("--help")) {
		return stream{}
	}
	j.raise(tool.Runs, "runs "+c.name()+", which can start anything")
	for _, a := range args {
		if _, text, ok := strings.Cut(a.text, "!"); ok {
			j.glimpse(text)
		}
		if text, ok := strings.CutPrefix(a.text, "shell "); ok {
			j.glimpse(text)
		}
		for _, q := range quotedTexts(a.text) {
			j.glimpse(q)
		}
	}
	if c.name() == "gdb" {
		for i, a := range args {
			if a.is("--args") {
				j.inner(s, args[i+1:])
			}
		}
	}
	return stream{}
}
