package server

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/mcp-tools/mcp-tools/internal/approvals"
)

// askedAbout makes launch ask about a text, and returns what a person is shown.
func askedAbout(t *testing.T, text string) (approvals.Call, string) {
	t.Helper()
	raw, err := json.Marshal(map[string]string{"text": text})
	if err != nil {
		t.Fatal(err)
	}
	d := newMemoryApprovals()
	ask := callTool(t, newTestServer(t, withApprovals(d)), "launch", string(raw), answering("")).InputRequest
	if ask == nil {
		t.Fatal("no question is asked")
	}
	dialog, err := json.Marshal(ask.Questions[approvalKey].Params)
	if err != nil {
		t.Fatal(err)
	}
	var form struct{ Message string }
	if err := json.Unmarshal(dialog, &form); err != nil {
		t.Fatal(err)
	}
	return d.get(ask.Waiting).call, form.Message
}

func TestCommandsAreReadAsTheyAre(t *testing.T) {
	petition, dialog := askedAbout(t, "a && b > c | d <e>\u2028\x1b\x7f")
	const want = `"text":"a && b > c | d <e><U+2028>\u001b<U+007F>"`
	const line = "\n  text: a && b > c | d <e><U+2028><U+001B><U+007F>\n"
	if !strings.Contains(petition.Shown, want) || !strings.Contains(dialog, line) {
		t.Errorf("a person reads %s in %s", petition.Shown, dialog)
	}
}

// TestMasksAreCounted hides a command where the scrubber sees a key.
func TestMasksAreCounted(t *testing.T) {
	petition, dialog := askedAbout(t, "run "+plantedKey()+" now")
	const want = "of text, which look like secrets and may be anything"
	if got := petition.Facts[notShown]; !strings.Contains(got, want) || !strings.Contains(dialog, notShown+": "+got) {
		t.Errorf("a person learns %q in %s", got, dialog)
	}
	if petition.Basis != "" {
		t.Error("what is shown became a term of the word")
	}
	if petition, _ := askedAbout(t, "run now"); petition.Facts[notShown] != "" {
		t.Errorf("nothing is masked, and a person learns %q", petition.Facts[notShown])
	}
}

func TestWhichArgumentsAreMasked(t *testing.T) {
	for _, test := range []struct{ raw, clean, want string }{
		{`{"a":"x"}`, `{"a":"x"}`, ""},
		{`{"a":"x 1234567890 y","b":1}`, `{"a":"x [R] y","b":1}`, "parts of a, which"},
		{`{"a":"[R]","b":"aa"}`, `{"a":"[R]","b":"aaa"}`, "parts of b, which"},
		{`{"a":"12","b":"34"}`, `{"a":"[R]","b":"[R]"}`, "parts of a, b, which"},
		{`[1]`, `[2]`, "parts of the arguments, which"},
	} {
		if got := maskedParts([]byte(test.raw), []byte(test.clean)); !strings.HasPrefix(got, test.want) || got != "" &&
			test.want == "" {
			t.Errorf("%s and %s: %q", test.raw, test.clean, got)
		}
	}
}
