package fs

import (
	"testing"

	"github.com/mcp-tools/mcp-tools/internal/tool"
)

func TestToolsAreWellMade(t *testing.T) {
	if _, err := tool.NewSet(Tools(nil, nil, nil, nil)...); err != nil {
		t.Fatal(err)
	}
}
