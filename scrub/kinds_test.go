package scrub

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestKindsAreAll compares the list with what the finders say.
func TestKindsAreAll(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	said := regexp.MustCompile(`kind: +"([a-z_0-9]+)"`)
	found := []string{kindOf(password, ""), kindOf(0, "token"), kindOf(0, "key"), kindOf(0, "")}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, match := range said.FindAllStringSubmatch(string(text), -1) {
			found = append(found, match[1])
		}
	}
	for _, f := range families() {
		found = append(found, f.kind)
	}
	slices.Sort(found)
	if found = slices.Compact(found); !slices.Equal(found, Kinds()) {
		t.Errorf("the finders say %q, Kinds says %q", found, Kinds())
	}
}
