package config

import (
	"maps"
	"reflect"
	"regexp"
	"strings"
	"testing"
)

// everyField visits all declarations, also those inside of lists and maps.
func everyField(section reflect.Type, path string, visit func(path string, f field)) {
	for _, f := range fields(section) {
		visit(join(path, f.name), f)
		inner := f
		for kindOf(inner.typ) == isList || kindOf(inner.typ) == isMap {
			inner = inner.item()
		}
		if kindOf(inner.typ) == isSection {
			everyField(inner.typ, join(path, f.name), visit)
		}
	}
}

func TestDeclarations(t *testing.T) {
	keys := make(map[string]bool)
	for _, s := range Settings() {
		keys[s.Key] = true
	}
	everyField(reflect.TypeFor[Config](), "", func(path string, f field) {
		if f.doc == "" {
			t.Errorf("%s has no doc", path)
		}
		for _, name := range []string{f.form, f.keys} {
			if name != "" && formNamed(name).words == "nothing" {
				t.Errorf("%s has the unknown form %q", path, name)
			}
		}
		if !regexp.MustCompile(`^[a-z0-9]+(_[a-z0-9]+)*$`).MatchString(f.name) {
			t.Errorf("%s is not snake_case", path)
		}
		if kindOf(f.typ) == isText && f.typ.Kind() != reflect.String {
			t.Errorf("%s has a type that cannot be read: %v", path, f.typ)
		}
		low, high := f.bound(f.min), f.bound(f.max)
		if low != nil && high != nil && *low >= *high {
			t.Errorf("%s has bad bounds: %q to %q", path, f.min, f.max)
		}
		if f.preset != "" && !keys[path] {
			t.Errorf("%s is part of a list or a map, where defaults do not count", path)
		}
		if f.preset != "" {
			d := newDecoder("default", origin{})
			if d.overlay(f, path, f.preset, reflect.New(f.typ).Elem()); d.problems != nil {
				t.Errorf("%s has a bad default: %v", path, d.problems)
			}
		} else if kindOf(f.typ) == isWhole {
			t.Errorf("%s is a number without a default", path)
		}
	})
}

func TestNamesAreUnique(t *testing.T) {
	seen := map[string]string{EnvConfig: "the file", EnvData: "the data directory", "config": "the file", "data": "the data directory", "stdio": "the transport"}
	for _, s := range Settings() {
		for _, name := range []string{s.Key, s.Env, s.Flag} {
			if name == "" {
				continue
			}
			if other, taken := seen[name]; taken {
				t.Errorf("%s and %s are both called %s", other, s.Key, name)
			}
			seen[name] = s.Key
		}
	}
	for key, want := range map[string]string{"policy.autonomy": "MCP_TOOLS_AUTONOMY autonomy", "server.http": "MCP_TOOLS_HTTP http",
		"connections.stdio.profile": "MCP_TOOLS_PROFILE profile", "server.tls_cert": "MCP_TOOLS_TLS_CERT tls-cert", "limits.calls_per_minute": "MCP_TOOLS_LIMITS_CALLS_PER_MINUTE "} {
		for _, s := range Settings() {
			if s.Key == key && s.Env+" "+s.Flag != want {
				t.Errorf("%s is %s %s, want %s", key, s.Env, s.Flag, want)
			}
		}
	}
}

func TestUnknownVariables(t *testing.T) {
	problems := UnknownVariables([]string{"PATH=/bin", "MCP_TOOLS_HTTP=:1", "MCP_TOOLS_AUTONOM=full", "MCP_TOOLS_CONFIG=x", "MCP_TOOLS_TOKEN=y", "MCP_TOOLS_PORT_80_TCP_ADDR=z"})
	var got []string
	for _, p := range problems {
		got = append(got, p.String())
	}
	want := "MCP_TOOLS_AUTONOM: warning: no setting has this name; did you mean MCP_TOOLS_AUTONOMY?"
	if len(got) != 2 || got[0] != want || !strings.HasPrefix(got[1], "MCP_TOOLS_PORT_80_TCP_ADDR: warning: ") {
		t.Errorf("got %q", got)
	}
}

// TestDocsNameSettings fails for a text in docs.txt that belongs to no setting.
func TestDocsNameSettings(t *testing.T) {
	unused := maps.Clone(docs())
	var visit func(section reflect.Type)
	visit = func(section reflect.Type) {
		for _, f := range fields(section) {
			delete(unused, section.Name()+"."+f.name)
			for kindOf(f.typ) == isList || kindOf(f.typ) == isMap {
				f = f.item()
			}
			if kindOf(f.typ) == isSection {
				visit(f.typ)
			}
		}
	}
	visit(reflect.TypeFor[Config]())
	for name := range unused {
		t.Errorf("%s is in docs.txt, and no setting has that name", name)
	}
}
