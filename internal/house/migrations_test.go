package house

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// Two branches that add a migration at the same time give it the same number. No store opens then.
func TestArchitectureMigrationsHaveTheirNumbers(t *testing.T) {
	files, err := os.ReadDir("../store/migrations")
	if err != nil {
		t.Fatal(err)
	}
	for i, f := range files {
		if want := fmt.Sprintf("%04d_", i+1); !strings.HasPrefix(f.Name(), want) {
			t.Fatalf("%s should begin with %s: give the newer migration the next free number", f.Name(), want)
		}
	}
}
