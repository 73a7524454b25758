package server

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// skillShelf is a library with skills in memory: the content of files by their URI.
type skillShelf map[string]string

func (s skillShelf) SkillURIs(context.Context) (list []string, err error) {
	for uri := range s {
		if name, _, _ := strings.Cut(strings.TrimPrefix(uri, "skill://"), "/"); uri == "skill://"+name+skillMain {
			list = append(list, uri)
		}
	}
	return list, nil
}

// skillPart returns a file of a skill as a resource; one with a zero byte is not text.
func skillPart(uri, content string) tool.Part {
	if strings.Contains(content, "\x00") {
		return tool.Part{URI: uri, Data: []byte(content), MIME: "application/octet-stream"}
	}
	return tool.Part{URI: uri, Text: content, MIME: "text/markdown"}
}

func (s skillShelf) SkillFiles(_ context.Context, uri string) (parts []tool.Part, err error) {
	if _, ok := s[uri]; !ok || !strings.HasSuffix(uri, skillMain) {
		return nil, tool.Errorf(tool.NotFound, "no skill")
	}
	for _, name := range slices.Sorted(maps.Keys(s)) {
		if strings.HasPrefix(name, strings.TrimSuffix(uri, skillMain)+"/") {
			parts = append(parts, skillPart(name, s[name]))
		}
	}
	return parts, nil
}

func (s skillShelf) SkillDirectory(_ context.Context, uri string) (list []tool.Resource, err error) {
	for name := range s {
		if rest, ok := strings.CutPrefix(name, uri+"/"); ok {
			list = append(list, tool.Resource{URI: name, Name: rest})
		}
	}
	if len(list) == 0 {
		return nil, tool.Errorf(tool.NotFound, "no directory")
	}
	return list, nil
}

func skillText(name, more string) string {
	return "---\nname: " + name + "\ndescription: Does it.\n" + more + "---\nDo it.\n"
}

// withSkills returns a server whose skills a tool governs.
func withSkills(tb testing.TB, governor string, skills skillShelf) *testServer {
	tb.Helper()
	shelf := testShelf()
	shelf.tool["skill"] = governor
	shelf.dynamic = func(_ context.Context, uri string) ([]tool.Part, error) {
		if text, ok := skills[uri]; ok {
			return []tool.Part{skillPart(uri, text)}, nil
		}
		return nil, tool.Errorf(tool.NotFound, "no file")
	}
	return withLibrary(tb, shelf, func(c *Config) { c.Skills = skills })
}

// A skillReply is the response to a request of the extension, as far as tests look into it.
type skillReply struct {
	Result struct {
		Skills     []Skill
		Skill      Skill
		Resources  []struct{ URI string }
		Contents   []struct{ Text, Blob string }
		NextCursor string
		ResultType string
		TTLMs      int
		CacheScope string
	}
	Error struct {
		Code    int
		Message string
	}
}

func askSkills(tb testing.TB, w *wire, method, params string) (r skillReply) {
	tb.Helper()
	w.send(stateless(method, params))
	if err := json.Unmarshal([]byte(w.next()), &r); err != nil {
		tb.Fatal(err)
	}
	return r
}

// TestSkillsHaveDigestsOfWhatIsRead: the entry of a skill is the same in the list and alone, and has the digest and
// the size of each file as resources/read returns it, without credentials. They follow the content.
func TestSkillsHaveDigestsOfWhatIsRead(t *testing.T) {
	skills := skillShelf{
		"skill://tidy/SKILL.md":       skillText("tidy", "metadata: {version: '1.0', level: 2}\n"),
		"skill://tidy/notes/key.md":   "the key is " + plantedKey() + ".\n",
		"skill://tidy/notes/empty.md": "",
	}
	w := dial(t, withSkills(t, "echo", skills))
	before := ""
	for range 2 {
		listed := askSkills(t, w, methodSkillsList, "").Result
		if len(listed.Skills) != 1 || listed.ResultType != "complete" || listed.CacheScope != "private" || listed.TTLMs == 0 {
			t.Fatalf("%+v", listed)
		}
		one := askSkills(t, w, methodSkillsGet, `"uri":"skill://tidy/SKILL.md",`).Result.Skill
		if plain(t, one) != plain(t, listed.Skills[0]) || plain(t, one) == before {
			t.Errorf("alone it is %+v, in the list %+v, before %s", one, listed.Skills[0], before)
		}
		if got := plain(t, one.FrontMatter); got !=
			`{"description":"Does it.","metadata":{"level":2,"version":"1.0"},"name":"tidy"}` {
			t.Errorf("the front matter is %s", got)
		}
		if len(one.Files) != len(skills) {
			t.Errorf("%d files are listed, want %d", len(one.Files), len(skills))
		}
		for _, f := range one.Files {
			text := askSkills(t, w, "resources/read", fmt.Sprintf(`"uri":%q,`, f.URI)).Result.Contents[0].Text
			sum := sha256.Sum256([]byte(text))
			if f.Digest != "sha256:"+hex.EncodeToString(sum[:]) || f.Size != len(text) || strings.Contains(text, plantedKey()) {
				t.Errorf("%+v is %q", f, text)
			}
		}
		before = plain(t, one)
		skills["skill://tidy/notes/empty.md"] = "no longer"
	}
}

// TestSkillsOfTheWire has the extension in both eras, and for callers with and without the tool of the skills.
func TestSkillsOfTheWire(t *testing.T) {
	for governor, sees := range map[string]bool{"echo": true, "launch": false, "nothing": false} {
		w := dial(t, withSkills(t, governor, skillShelf{"skill://tidy/SKILL.md": skillText("tidy", "")}))
		w.send(handshake("2025-11-25", "{}")...)
		legacy := w.next()
		w.send(modernLine("1", "server/discover", ""))
		for era, hello := range map[string]string{"legacy": legacy, "stateless": w.next()} {
			if has := strings.Contains(hello, `"io.modelcontextprotocol/skills":{"directoryRead":true}`); has != sees {
				t.Errorf("%s, %s: %s", governor, era, hello)
			}
		}
		for _, line := range []string{
			`{"jsonrpc":"2.0","id":7,"method":"skills/get","params":{"uri":"skill://tidy/SKILL.md"}}`,
			modernLine("7", methodSkillsGet, `"uri":"skill://tidy/SKILL.md"`),
			modernLine("7", methodSkillsList, ""),
			modernLine("7", methodDirectoryRead, `"uri":"skill://tidy"`),
		} {
			w.send(line)
			reply, want := w.next(), `"code":-32601`
			if sees {
				want = `"uri":"skill://tidy/SKILL.md"`
			}
			if !strings.Contains(reply, want) {
				t.Errorf("%s: %s got %s", governor, line, reply)
			}
		}
	}
}

func TestSkillsInPages(t *testing.T) {
	skills := skillShelf{}
	for i := range 2*skillsPerPage + 1 {
		skills[fmt.Sprintf("skill://s%03d/SKILL.md", i)] = skillText(fmt.Sprintf("s%03d", i), "")
	}
	for i := range filesPerPage + 1 {
		skills[fmt.Sprintf("skill://dir/f%03d", i)] = ""
	}
	w := dial(t, withSkills(t, "echo", skills))
	for method, want := range map[string]int{methodSkillsList: 2*skillsPerPage + 1, methodDirectoryRead: filesPerPage + 1} {
		var all []string
		pages := 0
		for cursor := ""; pages == 0 || cursor != ""; pages++ {
			got := askSkills(t, w, method, fmt.Sprintf(`"uri":"skill://dir","cursor":%q,`, cursor)).Result
			for _, one := range got.Skills {
				all = append(all, one.URI)
			}
			for _, one := range got.Resources {
				all = append(all, one.URI)
			}
			cursor = got.NextCursor
		}
		if len(all) != want || !slices.IsSorted(all) || len(slices.Compact(all)) != want || pages < 2 {
			t.Errorf("%s has %d entries on %d pages, want %d", method, len(all), pages, want)
		}
		if got := askSkills(t, w, method, `"uri":"skill://dir","cursor":"?",`); got.Error.Code != mcp.INVALID_PARAMS {
			t.Errorf("%s with a cursor of another: %+v", method, got)
		}
	}
}

// TestSkillsThatAreNotServed: what breaks a rule is left out of the list, and its error says why. What is not there is
// an error of the parameters.
func TestSkillsThatAreNotServed(t *testing.T) {
	skills := skillShelf{
		"skill://good/SKILL.md":              skillText("good", ""),
		"skill://other/SKILL.md":             skillText("name", ""),
		"skill://silent/SKILL.md":            "---\nname: silent\n---\n",
		"skill://plain/SKILL.md":             "no front matter",
		"skill://alias/SKILL.md":             skillText("alias", "a: &x 1\nb: *x\n"),
		"skill://infinite/SKILL.md":          skillText("infinite", "n: .inf\n"),
		"skill://leak/SKILL.md":              skillText("leak", `author: "`+strings.Replace(plantedKey(), "g", `\x67`, 1)+"\"\n"),
		"skill://named/SKILL.md":             skillText("named", ""),
		"skill://named/" + plantedKey():      "x",
		"skill://large/SKILL.md":             skillText("large", ""),
		"skill://large/1":                    strings.Repeat("x", maxSkillBytes/2),
		"skill://large/2":                    strings.Repeat("x", maxSkillBytes/2),
		"skill://colons/SKILL.md":            skillText("colons", "when: use it: now\n"),
		"skill://quoted-name/notes/SKILL.md": skillText("notes", ""),
	}
	w := dial(t, withSkills(t, "echo", skills))
	listed := askSkills(t, w, methodSkillsList, "").Result.Skills
	if len(listed) != 1 || listed[0].URI != "skill://good/SKILL.md" {
		t.Errorf("listed are %+v", listed)
	}
	for uri, why := range map[string]string{
		"skill://other/SKILL.md": "another name than its directory", "skill://silent/SKILL.md": "no description",
		"skill://plain/SKILL.md": "no front matter", "skill://alias/SKILL.md": "anchors, aliases and tags",
		"skill://infinite/SKILL.md": "cannot be written in JSON", "skill://leak/SKILL.md": "has a credential",
		"skill://named/SKILL.md": "the name of a file has a credential", "skill://large/SKILL.md": "more bytes",
		"skill://colons/SKILL.md": "not plain YAML",
		"skill://gone/SKILL.md":   "there is no skill", "skill://good": "there is no skill", "memory:///a/u/today.md": "no skill",
		"secret:///plan": "there is no skill", "": "params.uri must be", "skill://a\u202eb/SKILL.md": "params.uri must be",
	} {
		got := askSkills(t, w, methodSkillsGet, fmt.Sprintf(`"uri":%s,`, plain(t, uri))).Error
		if got.Code != mcp.INVALID_PARAMS || !strings.Contains(got.Message, why) || strings.Contains(got.Message, plantedKey()) {
			t.Errorf("%q: %+v, want %q", uri, got, why)
		}
	}
	for _, uri := range []string{"skill://good/SKILL.md", "skill://gone", "skill://good/..", "secret:///plan", "x"} {
		got := askSkills(t, w, methodDirectoryRead, fmt.Sprintf(`"uri":%q,`, uri)).Error
		if got.Code != mcp.INVALID_PARAMS {
			t.Errorf("the directory %q: %+v", uri, got)
		}
	}
}

// TestSkillsByTheSpecification has the sentences of the specification that no other test has.
func TestSkillsByTheSpecification(t *testing.T) {
	binary := "\x00\xff\x01" + strings.Repeat("\xfe", 100)
	skills := skillShelf{
		"skill://tidy/SKILL.md": skillText("tidy", ""), "skill://tidy/data.bin": binary,
		"skill://tidy/inner/SKILL.md": skillText("inner", ""), // a nested skill is supporting content
	}
	w := dial(t, withSkills(t, "echo", skills))
	w.send(modernLine("1", "server/discover", ""))
	if hello := w.next(); !strings.Contains(hello, `"resources":{`) {
		t.Errorf("a server with skills must declare resources: %s", hello)
	}
	got := askSkills(t, w, methodSkillsGet, `"uri":"skill://tidy/SKILL.md",`).Result
	if got.ResultType != "complete" || got.TTLMs <= 0 || got.CacheScope != "private" || got.NextCursor != "" {
		t.Errorf("skills/get: %+v", got)
	}
	if dir := askSkills(t, w, methodDirectoryRead, `"uri":"skill://tidy",`).Result; dir.ResultType != "complete" {
		t.Errorf("resources/directory/read: %+v", dir)
	}
	var uris []string
	for _, f := range got.Skill.Files {
		uris = append(uris, f.URI)
		digits, ok := strings.CutPrefix(f.Digest, "sha256:")
		if raw, err := hex.DecodeString(digits); !ok || err != nil || len(raw) != sha256.Size || digits != strings.ToLower(digits) {
			t.Errorf("the digest of %s is %s", f.URI, f.Digest)
		}
	}
	slices.Sort(uris)
	if want := slices.Sorted(maps.Keys(skills)); !slices.Equal(uris, want) {
		t.Errorf("the files are %q, want each of %q once", uris, want)
	}
	read := askSkills(t, w, "resources/read", `"uri":"skill://tidy/data.bin",`).Result.Contents
	raw, err := base64.StdEncoding.DecodeString(read[0].Blob)
	sum := sha256.Sum256(raw)
	i := slices.IndexFunc(got.Skill.Files, func(f SkillFile) bool { return f.URI == "skill://tidy/data.bin" })
	if f := got.Skill.Files[i]; err != nil || string(raw) != binary || f.Size != len(binary) || f.Digest != "sha256:"+hex.EncodeToString(sum[:]) {
		t.Errorf("%+v of %q, %v", f, raw, err)
	}
	if listed := askSkills(t, w, methodSkillsList, "").Result.Skills; len(listed) != 1 {
		t.Errorf("listed are %+v", listed)
	}
	for _, uri := range []string{"skill://tidy/gone.md", "skill://gone/SKILL.md", "skill://tidy"} {
		if got := askSkills(t, w, "resources/read", fmt.Sprintf(`"uri":%q,`, uri)).Error; got.Code != mcp.INVALID_PARAMS {
			t.Errorf("reading %s: %+v", uri, got)
		}
	}
	w.send(stateless("skills/other", ""))
	if reply := w.next(); !strings.Contains(reply, `"code":-32601`) {
		t.Errorf("another method got %s", reply)
	}
}

// TestChangedSkillsReachTheirReaders: clients that read a file of a skill are notified when another file of it changes,
// for it has changed with the skill's entry; clients of other skills are not.
func TestChangedSkillsReachTheirReaders(t *testing.T) {
	skills := skillShelf{"skill://tidy/SKILL.md": skillText("tidy", ""), "skill://tidy2/SKILL.md": skillText("tidy2", "")}
	s := openSiteOf(t, withSkills(t, "echo", skills))
	note, other := "skill://tidy/notes/a.md", "skill://tidy2/notes/a.md"
	all := listenersOf(t, s, "bob", note, other)
	s.Changed(Change{Ref: Ref{URI: "skill://tidy/SKILL.md"}, Listed: true})
	for era, bob := range all {
		announces(t, era, bob.next(), mcp.MethodNotificationResourcesListChanged, "")
		announces(t, era, bob.next(), mcp.MethodNotificationResourceUpdated, note)
	}
	s.Changed(Change{Ref: Ref{URI: "skill://tidy2/SKILL.md"}})
	for era, bob := range all {
		announces(t, era, bob.next(), mcp.MethodNotificationResourceUpdated, other)
	}
}
