package house

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write arrows.txt again")

const arrowsFile = "arrows.txt"

const arrowsHead = `# Which package of this module imports which; tests are not listed.
# Review a new arrow like a new dependency. To accept a change:
#	go test ./internal/house -run Arrows -update
`

// TestArrows compares the imports within the module with arrows.txt.
func TestArrows(t *testing.T) {
	arrows := map[string][]string{}
	for _, s := range sources(t) {
		if s.test() {
			continue
		}
		for _, imported := range s.imports() {
			if !slices.Contains(arrows[s.dir], imported) {
				arrows[s.dir] = append(arrows[s.dir], imported)
			}
		}
	}
	var b strings.Builder
	b.WriteString(arrowsHead)
	for _, from := range slices.Sorted(maps.Keys(arrows)) {
		slices.Sort(arrows[from])
		fmt.Fprintf(&b, "%s: %s\n", from, strings.Join(arrows[from], " "))
	}
	if *update {
		if err := os.WriteFile(arrowsFile, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	listed, err := os.ReadFile(arrowsFile)
	if err != nil {
		t.Fatal(err)
	}
	want, got := strings.Split(string(listed), "\n"), strings.Split(b.String(), "\n")
	for _, line := range got {
		if !slices.Contains(want, line) {
			t.Errorf("%s does not list: %s", arrowsFile, line)
		}
	}
	for _, line := range want {
		if !slices.Contains(got, line) {
			t.Errorf("%s lists what is not imported: %s", arrowsFile, line)
		}
	}
	checkFloors(t, arrows)
	checkCircles(t, arrows)
}

// imports returns the packages of this module that the file imports, as paths
// from the root.
func (s source) imports() []string {
	var ours []string
	for _, spec := range s.ast.Imports {
		imported, _ := strconv.Unquote(spec.Path.Value)
		if path, ok := strings.CutPrefix(imported, module+"/"); ok {
			ours = append(ours, path)
		}
	}
	return ours
}

// floor returns the height of a package: packages import from their own floor
// or a lower one. policy, scrub and index import nothing of this module.
func floor(dir string) int {
	switch first, _, _ := strings.Cut(dir, "/"); first {
	case "cmd":
		return 3
	case "server", "tools":
		return 2
	case "internal":
		return 1
	}
	return 0
}

func checkFloors(t *testing.T, arrows map[string][]string) {
	t.Helper()
	for from, imports := range arrows {
		for _, to := range imports {
			first, _, _ := strings.Cut(from, "/")
			other, _, _ := strings.Cut(to, "/")
			switch {
			case floor(to) > floor(from):
				t.Errorf("%s imports %s, which is on a higher floor", from, to)
			case first != other && floor(from) == floor(to) && floor(from) != 1:
				t.Errorf("%s imports %s: they do not know each other", from, to)
			}
		}
	}
}

// checkCircles reports folders that import each other, directly or through
// others. Go forbids circles of packages only.
func checkCircles(t *testing.T, arrows map[string][]string) {
	t.Helper()
	folders := map[string]map[string]bool{}
	for from, imports := range arrows {
		for _, to := range imports {
			if a, b := room(from), room(to); a != b {
				if folders[a] == nil {
					folders[a] = map[string]bool{}
				}
				folders[a][b] = true
			}
		}
	}
	state := map[string]int{} // 1: on the path, 2: done
	var visit func(folder string, path []string)
	visit = func(folder string, path []string) {
		if state[folder] == 1 {
			t.Errorf("folders import each other: %s", strings.Join(append(path, folder), " -> "))
			return
		}
		if state[folder] == 2 {
			return
		}
		state[folder] = 1
		for _, next := range slices.Sorted(maps.Keys(folders[folder])) {
			visit(next, append(slices.Clone(path), folder))
		}
		state[folder] = 2
	}
	for _, folder := range slices.Sorted(maps.Keys(folders)) {
		visit(folder, nil)
	}
}
