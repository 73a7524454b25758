package app

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/mcp-tools/mcp-tools/internal/hooks"
	"github.com/mcp-tools/mcp-tools/internal/sandbox"
	"github.com/mcp-tools/mcp-tools/tools/bridge"
)

// TestModesOfSandboxes checks that settings accept the sandboxes that there are, and no others: a tag cannot refer to
// a list.
func TestModesOfSandboxes(t *testing.T) {
	launchers, err := Launchers(sandbox.Settings{Docker: sandbox.DockerSettings{Image: "debian"}, Kubernetes: sandbox.KubernetesSettings{Image: "debian"}}, t.TempDir(), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	names := []string{sandbox.Auto, "kernel", "seatbelt"} // of Linux and macOS
	for _, l := range launchers {
		names = append(names, l.Name())
	}
	slices.Sort(names)
	names = slices.Compact(names)
	for _, field := range []struct {
		of    reflect.Type
		name  string
		extra []string
	}{
		{reflect.TypeFor[sandbox.Settings](), "Mode", []string{"off"}},
		{reflect.TypeFor[sandbox.Settings](), "Profiles", []string{"off"}},
		{reflect.TypeFor[sandbox.AgentSettings](), "Mode", []string{"off"}},
		{reflect.TypeFor[bridge.Server](), "Sandbox", nil},
		{reflect.TypeFor[hooks.HookSettings](), "Sandbox", nil},
	} {
		f, _ := field.of.FieldByName(field.name)
		got := strings.Split(f.Tag.Get("enum"), ",")
		slices.Sort(got)
		if want := slices.Sorted(slices.Values(slices.Concat(names, field.extra))); !slices.Equal(got, want) {
			t.Errorf("%s.%s accepts %q, there are %q", field.of, field.name, got, want)
		}
	}
	if modes := sandbox.Modes(); !slices.Equal(slices.Sorted(slices.Values(modes)), names) {
		t.Errorf("the modes are %q, there are %q", modes, names)
	}
}
