package config

import (
	"fmt"
	"reflect"
	"strings"
)

const referenceHead = `# Configuration

mcp-tools runs without any configuration. Each setting has its value from the first of these that names one:

1. a flag,
2. a variable of the environment,
3. one YAML file,
4. its default.

` + "`--config`" + ` or ` + "`MCP_TOOLS_CONFIG`" + ` names the file, which must exist then. Otherwise it is
` + "`$XDG_CONFIG_HOME/mcp-tools/config.yaml`" + ` (` + "`~/.config/mcp-tools/config.yaml`" + `; on macOS in
` + "`~/Library/Application Support/mcp-tools`" + `, on Windows in ` + "`%AppData%\\mcp-tools`" + `), if it exists.
` + "`--data`" + ` or ` + "`MCP_TOOLS_DATA`" + ` names the data directory, otherwise it is
` + "`$XDG_DATA_HOME/mcp-tools`" + ` (` + "`~/.local/share/mcp-tools`" + `;
macOS ` + "`~/Library/Application Support/mcp-tools`" + `, Windows ` + "`%LocalAppData%\\mcp-tools`" + `).

` + "`mcp-tools config check`" + ` reports all mistakes at once, with file and line. An unknown name is an error.
` + "`mcp-tools config path`" + ` prints the path of the file.

## How to write values

- Durations: ` + "`250ms`, `30s`, `5m`, `1d12h`" + `. Sizes: ` + "`512B`, `100KiB`, `5MiB`, `1GiB`" + `, or a number of bytes.
- The file cannot contain secrets. Write references: ` + "`secret:NAME`" + ` in the [vault](secrets.md),
  ` + "`env:NAME`" + `, ` + "`file:PATH`" + ` for a file with only the secret, or ` + "`command:PROGRAM ARGUMENTS`" + ` for a program
  that prints it.
- Paths in the file are relative to its directory; paths in flags and variables to the working directory. ` + "`~/`" + ` is
  the home directory.
- ` + "`[]`" + ` is an empty list; leave the line out for the default.
- Quote text that YAML reads as another type: ` + "`\"123\"`, `\"true\"`" + `.
- Anchors and aliases work; merge keys (` + "`<<`" + `), tags and second documents are refused. The file has at most 1 MiB.

In the environment a list of words is written with commas (` + "`a,b`" + `), any other list or map as YAML on one line
(` + "`[{name: ci, hash: …, profiles: [readonly]}]`" + `). An empty variable counts as not set.

## Changing settings while the server runs

The file is read again when it changes and on SIGHUP. Settings marked *restart* keep their value until the next
start; the log names those that wait for it. A file with a mistake changes nothing, and the log says what is wrong.
Nor does a file that has become empty or has gone: rules that are lost by accident stay in force. A file in a
directory that callers can write to is read at the start only, with a warning in the log.

## Help in the editor

` + "`mcp-tools config schema`" + ` prints a JSON Schema. Save it beside the file and begin the file with

` + "```yaml\n# yaml-language-server: $schema=config.schema.json\n```" + `

## Example

` + "```yaml\n"

// Reference returns the manual of all settings in Markdown.
func Reference[T any](r *Reader[T], example []byte) []byte {
	var text strings.Builder
	text.WriteString(referenceHead)
	text.Write(example)
	text.WriteString("```\n")
	byKey := make(map[string]Setting)
	for _, s := range r.settings {
		byKey[s.Key] = s
	}
	for _, f := range fields(reflect.TypeFor[T]()) {
		f.doc = r.texts.of(reflect.TypeFor[T](), f)
		fmt.Fprintf(&text, "\n## %s\n\n%s\n", f.name, sentence(f.doc))
		text.WriteString("\n| Setting | Default | Environment, flag | Change | Meaning |\n|---|---|---|---|---|\n")
		r.texts.writeField(&text, f, f.name, byKey)
	}
	return []byte(text.String())
}

// writeField writes a row for a setting, or one for every setting of a section,
// and below a list or a map of sections one for every field of those.
func (ts texts) writeField(text *strings.Builder, f field, key string, byKey map[string]Setting) {
	if kindOf(f.typ) != isSection {
		writeRow(text, f, key, byKey[key])
	}
	for kindOf(f.typ) == isList || kindOf(f.typ) == isMap {
		if kindOf(f.typ) == isList {
			key += "[]"
		} else {
			key += ".NAME"
		}
		f = f.item()
	}
	if kindOf(f.typ) == isSection {
		for _, inner := range fields(f.typ) {
			inner.doc = ts.of(f.typ, inner)
			ts.writeField(text, inner, join(key, inner.name), byKey)
		}
	}
}

func writeRow(text *strings.Builder, f field, key string, s Setting) {
	preset, ways, change := "", "", ""
	switch {
	case f.preset != "":
		preset = code(f.preset)
	case f.required:
		preset = "*required*"
	}
	if s.Key != "" {
		ways, change = code(s.Env), "reload"
		if s.Flag != "" {
			ways += ", " + code("--"+s.Flag)
		}
		if s.Restart {
			change = "*restart*"
		}
	}
	meaning := sentence(f.doc)
	if accepted := f.summary(); accepted != "" {
		meaning += " Accepted: " + accepted + "."
	}
	row := []string{code(key), preset, ways, change, meaning}
	for i := range row {
		row[i] = strings.ReplaceAll(row[i], "|", `\|`)
	}
	text.WriteString("| " + strings.Join(row, " | ") + " |\n")
}

// summary returns the values that f accepts, without facts of other columns of
// the manual.
func (f field) summary() string {
	switch kindOf(f.typ) {
	case isBool, isSection:
		return ""
	case isWritten, isWhole:
		if span := strings.TrimPrefix(f.bounds(), " from "); span != "" {
			return span
		}
		return f.accepted()
	case isList, isMap:
		return f.item().summary()
	}
	if formNamed(f.form).plain || f.accepted() == "text" {
		return ""
	}
	return f.accepted()
}

func code(text string) string { return "`" + text + "`" }

// sentence begins text with a capital letter and ends it with a full stop.
func sentence(text string) string {
	if text == "" {
		return ""
	}
	text = strings.ToUpper(text[:1]) + text[1:]
	if !strings.HasSuffix(text, ".") {
		text += "."
	}
	return text
}
