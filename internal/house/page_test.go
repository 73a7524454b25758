package house

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestArchitecturePageNamesEveryDirectory compares the tree of docs/architecture.md with the
// directories of internal and tools.
func TestArchitecturePageNamesEveryDirectory(t *testing.T) {
	page, err := os.ReadFile("../../docs/architecture.md")
	if err != nil {
		t.Fatal(err)
	}
	_, tree, _ := strings.Cut(string(page), "```text\n")
	tree, _, _ = strings.Cut(tree, "```")
	named := make(map[string]bool)
	for _, match := range regexp.MustCompile(`\b([a-z]+)/`).FindAllStringSubmatch(tree, -1) {
		named[match[1]] = true
	}
	there := map[string]bool{}
	for _, pattern := range []string{"../../*", "../../*/*", "../../internal/*", "../../tools/*", "../../*/*/*", "../../*/*/*/*"} {
		found, _ := filepath.Glob(pattern)
		for _, path := range found {
			if info, err := os.Stat(path); err == nil && info.IsDir() {
				there[filepath.Base(path)] = true
			}
			if dir := filepath.Base(filepath.Dir(path)); (dir == "internal" || dir == "tools") && there[filepath.Base(path)] &&
				!named[filepath.Base(path)] {
				t.Errorf("the tree does not have %s", path)
			}
		}
	}
	for name := range named {
		if !there[name] {
			t.Errorf("the tree has %s/, which does not exist", name)
		}
	}
}
