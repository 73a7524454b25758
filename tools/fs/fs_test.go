package fs

import (
	"testing"

	"github.com/mcp-tools/mcp-tools/tools"
)

func TestToolsAreWellMade(t *testing.T) {
	if _, err := tools.NewSet(Tools(nil)...); err != nil {
		t.Fatal(err)
	}
}
