// Package data holds the tool for small work on text that models do badly in their head:
// reading JSON, YAML and CSV, patterns, hashes, Base64, differences and templates. It
// reads no files and keeps nothing.
//
// Begin with the table of actions in [data.Do].
package data

import (
	"bytes"
	"context"
	"crypto/md5"
	"crypto/rand"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/csv"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/mcp-tools/mcp-tools/internal/text"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

const (
	maxText    = 2 << 20 // bytes of an argument, and of a result
	maxMatches = 1000
	maxLines   = 5000 // of each side of a difference
)

// Tools returns the tools of the group.
func Tools() []tool.Tool { return []tool.Tool{tool.New(data{})} }

// data does small work on text.
type data struct{}

type dataArgs struct {
	Action  string         `json:"action" jsonschema:"format of text, or what to do" enum:"json,yaml,csv,regex,hash,uuid,base64,diff,template" alias:"op,operation"`
	Text    string         `json:"text,omitempty" jsonschema:"text to work on" alias:"input,data,json,yaml,csv,a,old" maxlen:"2097152"`
	Query   string         `json:"query,omitempty" jsonschema:"path such as items[*].name, or the RE2 pattern" alias:"path,pattern,regex"`
	To      string         `json:"to,omitempty" jsonschema:"json, yaml, csv; text to decode base64; sha1, sha512, md5" alias:"format,algorithm"`
	Replace *string        `json:"replace,omitempty" jsonschema:"replacement for matches, with $1 for groups" alias:"replacement"`
	Other   string         `json:"other,omitempty" jsonschema:"newer text for diff" alias:"b,new,text2" maxlen:"2097152"`
	Values  map[string]any `json:"values,omitempty" jsonschema:"values for {{name}} in a template"`
}

func (data) Spec() tool.Spec {
	return tool.Spec{
		Name: "data", Group: "data", Title: "Work on data", Risk: tool.Reads, Hints: tool.Hints{Idempotent: true},
		Doc: "Reads, queries and converts JSON, YAML and CSV; matches or replaces a pattern; hashes, UUIDs, Base64, " +
			"diffs, templates.",
		Also: []string{
			"json_transform", "yaml_parse", "csv_parse", "regex_test", "hash_compute", "uuid_generate", "base64_encode",
			"tool::json_transform", "tool::yaml_parse", "tool::csv_parse", "tool::regex_test", "tool::hash_compute",
			"tool::uuid_generate",
		},
		Means: map[string]string{
			"json_transform": `{"action":"json"}`, "yaml_parse": `{"action":"yaml"}`, "csv_parse": `{"action":"csv"}`,
			"regex_test": `{"action":"regex"}`, "hash_compute": `{"action":"hash"}`,
			"uuid_generate": `{"action":"uuid"}`,
			"base64_encode": `{"action":"base64"}`, "tool::json_transform": `{"action":"json"}`,
			"tool::yaml_parse": `{"action":"yaml"}`, "tool::csv_parse": `{"action":"csv"}`,
			"tool::regex_test": `{"action":"regex"}`, "tool::hash_compute": `{"action":"hash"}`,
			"tool::uuid_generate": `{"action":"uuid"}`,
		},
		MaxText: maxText, Keywords: "parse format transform extract field checksum sha256 md5 encode decode compare",
	}
}

// Do does one action.
func (data) Do(_ context.Context, a dataArgs) (tool.Result, error) {
	do := map[string]func(dataArgs) (string, error){
		"json": convert, "yaml": convert, "csv": convert, "regex": match, "hash": hashOfText, "uuid": newID,
		"base64": recode, "diff": difference, "template": fill,
	}[a.Action]
	out, err := do(a)
	if err != nil {
		return tool.Result{}, err
	}
	if len(out) > maxText {
		return tool.Result{}, tool.Errorf(tool.TooLarge, "the result has %d bytes, the maximum is %d", len(out),
			maxText).
			Try("query a part of it")
	}
	return tool.Text(out), nil
}

// convert reads a value, takes a part of it, and writes it in another format.
func convert(a dataArgs) (string, error) {
	value, err := read(a.Action, a.Text)
	if err != nil {
		return "", tool.Errorf(tool.Invalid, "text is not %s: %v", a.Action, err).Try("correct it, or send the whole text")
	}
	if value, err = query(value, a.Query); err != nil {
		return "", err
	}
	return write(value, a.To)
}

func read(format, text string) (value any, err error) {
	switch format {
	case "csv":
		return readCSV(text)
	case "yaml":
		var node yaml.Node
		if err := yaml.Unmarshal([]byte(text), &node); err != nil {
			return nil, err
		}
		if countAliases(&node) > 0 {
			return nil, errors.New("it has aliases, which can grow without limit")
		}
		err = node.Decode(&value)
		return plain(value), err
	}
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&value); err != nil {
		return nil, placed(err, text)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("there is more than one value")
	}
	return value, nil
}

// placed adds the line and the column to an error of JSON, and advice for a key without quotes.
func placed(err error, text string) error {
	wrong := (*json.SyntaxError)(nil)
	if !errors.As(err, &wrong) {
		return err
	}
	before := text[:max(0, min(int(wrong.Offset)-1, len(text)))]
	line := before[strings.LastIndexByte(before, '\n')+1:]
	why := wrong.Error()
	if strings.Contains(why, "looking for beginning of object key string") {
		why += "; keys are in double quotes, and no comma follows the last one"
	}
	return fmt.Errorf("line %d, column %d: %s", 1+strings.Count(before, "\n"), 1+utf8.RuneCountInString(line), why)
}

func countAliases(n *yaml.Node) int {
	count := 0
	if n.Kind == yaml.AliasNode {
		return 1
	}
	for _, one := range n.Content {
		count += countAliases(one)
	}
	return count
}

// plain gives all maps text for keys, so that they can be written as JSON.
func plain(value any) any {
	switch v := value.(type) {
	case map[string]any:
		for key, one := range v {
			v[key] = plain(one)
		}
	case map[any]any:
		all := make(map[string]any, len(v))
		for key, one := range v {
			all[fmt.Sprint(key)] = plain(one)
		}
		return all
	case []any:
		for i, one := range v {
			v[i] = plain(one)
		}
	}
	return value
}

// readCSV reads rows as objects with the names of the first row.
func readCSV(text string) (any, error) {
	r := csv.NewReader(strings.NewReader(text))
	first, _, _ := strings.Cut(text, "\n")
	for _, comma := range ";\t" {
		if strings.Count(first, string(comma)) > strings.Count(first, ",") {
			r.Comma = comma
		}
	}
	r.FieldsPerRecord, r.TrimLeadingSpace = -1, true
	rows, err := r.ReadAll()
	if err != nil || len(rows) == 0 {
		return []any{}, err
	}
	all := make([]any, 0, len(rows)-1)
	for _, row := range rows[1:] {
		object := make(map[string]any, len(row))
		for i, field := range row {
			name := "column " + strconv.Itoa(i+1)
			if i < len(rows[0]) && rows[0][i] != "" {
				name = rows[0][i]
			}
			object[name] = field
		}
		all = append(all, object)
	}
	return all, nil
}

// query follows a path such as a.b[0].c; [*] stands for all elements.
func query(value any, path string) (any, error) {
	path = strings.TrimPrefix(strings.TrimPrefix(path, "$"), ".")
	if path == "" {
		return value, nil
	}
	name, rest := path, ""
	if path[0] == '[' {
		inside, after, closed := strings.Cut(path[1:], "]")
		if !closed {
			return nil, tool.Errorf(tool.Invalid, "%q has no ]", path).Try("write items[0].name")
		}
		name, rest = strings.Trim(inside, `'"`), after
	} else if i := strings.IndexAny(path, ".["); i > 0 {
		name, rest = path[:i], path[i:]
	}
	switch v := value.(type) {
	case map[string]any:
		one, ok := v[name]
		if !ok {
			return nil, tool.Errorf(tool.NotFound, "there is no %q", name).Try("it has %s", keys(v))
		}
		return query(one, rest)
	case []any:
		if name == "*" {
			all := make([]any, 0, len(v))
			for _, one := range v {
				if found, err := query(one, rest); err == nil {
					all = append(all, found)
				}
			}
			return all, nil
		}
		i, err := strconv.Atoi(name)
		if i < 0 {
			i += len(v)
		}
		if err != nil || i < 0 || i >= len(v) {
			return nil, tool.Errorf(tool.NotFound, "there is no element %q, there are %d", name, len(v)).
				Try("use [0], [-1] or [*]")
		}
		return query(v[i], rest)
	}
	return nil, tool.Errorf(tool.NotFound, "%q is below a value that has no parts", name).Try("query less")
}

func keys(v map[string]any) string {
	var names []string
	for name := range v {
		names = append(names, name)
	}
	slices.Sort(names)
	if len(names) > 30 {
		names = append(names[:30], "...")
	}
	return strings.Join(names, ", ")
}

func write(value any, format string) (string, error) {
	switch format {
	case "", "json":
		if plain, ok := value.(string); ok && format == "" {
			return plain, nil
		}
		out, err := text.JSONLines(value)
		return string(out), err
	case "yaml":
		out, err := yaml.Marshal(numbers(value))
		return string(out), err
	case "csv":
		return writeCSV(value)
	}
	return "", tool.Errorf(tool.Invalid, "there is no format %q", format).Try("use json, yaml or csv")
}

// numbers replaces numbers of JSON by the forms that YAML writes without quotes.
func numbers(value any) any {
	switch v := value.(type) {
	case json.Number:
		if i, err := v.Int64(); err == nil {
			return i
		}
		if f, err := v.Float64(); err == nil {
			return f
		}
		return v.String()
	case map[string]any:
		for key, one := range v {
			v[key] = numbers(one)
		}
	case []any:
		for i, one := range v {
			v[i] = numbers(one)
		}
	}
	return value
}

func writeCSV(value any) (string, error) {
	rows, ok := value.([]any)
	var columns []string
	for _, row := range rows {
		object, isObject := row.(map[string]any)
		if !isObject {
			ok = false
			break
		}
		for name := range object {
			if !slices.Contains(columns, name) {
				columns = append(columns, name)
			}
		}
	}
	if !ok {
		return "", tool.Errorf(tool.Invalid, "only a list of objects can become CSV").Try("query the list first")
	}
	slices.Sort(columns)
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	all := [][]string{columns}
	for _, row := range rows {
		fields := make([]string, len(columns))
		for i, name := range columns {
			fields[i] = plainText(row.(map[string]any)[name])
		}
		all = append(all, fields)
	}
	err := w.WriteAll(all)
	return b.String(), err
}

// plainText returns a value as it stands in a text.
func plainText(value any) string {
	switch v := value.(type) {
	case nil:
		return ""
	case string:
		return v
	}
	out, err := text.JSON(value)
	if err != nil {
		return fmt.Sprint(value)
	}
	return string(out)
}

// match returns the matches of a pattern as JSON, or the text with them replaced.
func match(a dataArgs) (string, error) {
	pattern, err := regexp.Compile(a.Query)
	if err != nil {
		return "", tool.Errorf(tool.Invalid, "%v", err).Try("write an RE2 pattern: no look-around, no back-references")
	}
	if a.Replace != nil {
		if n := len(pattern.FindAllStringIndex(a.Text, -1)); n*(len(*a.Replace)+1) > 4*maxText {
			return "", tool.Errorf(tool.TooLarge, "%d matches would be replaced by long texts", n).Try("replace less")
		}
		return pattern.ReplaceAllString(a.Text, *a.Replace), nil
	}
	found := pattern.FindAllStringSubmatch(a.Text, maxMatches+1)
	if len(found) == 0 {
		return "no match", nil
	}
	note := ""
	if len(found) > maxMatches {
		found, note = found[:maxMatches], fmt.Sprintf("\n[only the first %d matches]", maxMatches)
	}
	out, err := text.JSON(found)
	return string(out) + note, err
}

func hashOfText(a dataArgs) (string, error) {
	made, ok := map[string]func() hash.Hash{
		"": sha256.New, "sha256": sha256.New, "sha1": sha1.New, "sha512": sha512.New, "md5": md5.New,
	}[strings.ToLower(strings.ReplaceAll(a.To, "-", ""))]
	if !ok {
		return "", tool.Errorf(tool.Invalid, "there is no hash %q", a.To).Try("use sha256, sha512, sha1 or md5")
	}
	h := made()
	h.Write([]byte(a.Text))
	return hex.EncodeToString(h.Sum(nil)), nil
}

// newID returns a random UUID, or with v7 one that begins with the time.
func newID(a dataArgs) (string, error) {
	var id [16]byte
	rand.Read(id[:])
	version := byte(4)
	if strings.EqualFold(a.To, "v7") {
		version = 7
		ms := uint64(time.Now().UnixMilli())
		for i := range 6 {
			id[i] = byte(ms >> (40 - 8*i))
		}
	}
	id[6], id[8] = id[6]&0x0f|version<<4, id[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", id[:4], id[4:6], id[6:8], id[8:10], id[10:]), nil
}

func recode(a dataArgs) (string, error) {
	if a.To != "text" {
		return base64.StdEncoding.EncodeToString([]byte(a.Text)), nil
	}
	plain := strings.NewReplacer("-", "+", "_", "/", "=", "", "\n", "", "\r", "", " ", "").Replace(a.Text)
	out, err := base64.RawStdEncoding.DecodeString(plain)
	if err != nil {
		return "", tool.Errorf(tool.Invalid, "text is not Base64: %v", err).Try("send all of it")
	}
	return strings.ToValidUTF8(string(out), "\uFFFD"), nil
}

// fill replaces {{name}} and {{a.b}} by values.
func fill(a dataArgs) (string, error) {
	var b strings.Builder
	rest := a.Text
	for {
		before, after, found := strings.Cut(rest, "{{")
		b.WriteString(before)
		if !found {
			return b.String(), nil
		}
		name, next, closed := strings.Cut(after, "}}")
		if !closed {
			return "", tool.Errorf(tool.Invalid, "a {{ has no }}").Try("write {{name}}")
		}
		value, err := query(map[string]any(a.Values), strings.TrimSpace(name))
		if err != nil {
			return "", err
		}
		if b.WriteString(plainText(value)); b.Len() > maxText {
			return b.String(), nil // the caller refuses it
		}
		rest = next
	}
}
