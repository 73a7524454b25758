package tokens

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestTokensThatDecide(t *testing.T) {
	dir := t.TempDir()
	table := open(t, dir)
	if _, _, err := table.Create(Request{Approve: true, Profiles: []string{"full"}}); err == nil || !strings.Contains(err.Error(), "name no profile") {
		t.Errorf("one that decides and calls: %v", err)
	}
	plain, _, err := table.Create(Request{Name: "console", Approve: true, User: "ann"})
	if err != nil {
		t.Fatal(err)
	}
	row, err := open(t, dir).Authenticate(plain.Reveal())
	if err != nil || !row.Approve || row.Profiles != nil || !row.Grant().Approve || row.Grant().Profiles != nil {
		t.Errorf("it is %+v, %v", row, err)
	}
	path := filepath.Join(dir, fileName)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	both := strings.Replace(string(text), `"approve": true`, `"approve": true, "profiles": ["full"]`, 1)
	if both == string(text) {
		t.Fatalf("the table has no such token: %s", text)
	}
	if err := os.WriteFile(path, []byte(both), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(dir); err == nil || !strings.Contains(err.Error(), "decides about calls and has one") {
		t.Errorf("a table that says both: %v", err)
	}
	if err := os.WriteFile(path, text, 0o600); err != nil { // for the tables that are still open
		t.Fatal(err)
	}
}
