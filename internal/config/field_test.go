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

// CheckDeclarations checks the declarations of all settings.
func CheckDeclarations[T any](t *testing.T, r *Reader[T]) {
	keys := make(map[string]bool)
	for _, s := range r.settings {
		keys[s.Key] = true
	}
	everyField(reflect.TypeFor[T](), "", func(path string, f field) {
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
			d := newDecoder(nil, "default", origin{})
			if d.overlay(f, path, f.preset, reflect.New(f.typ).Elem()); d.problems != nil {
				t.Errorf("%s has a bad default: %v", path, d.problems)
			}
		} else if kindOf(f.typ) == isWhole {
			t.Errorf("%s is a number without a default", path)
		}
	})
}

// CheckTexts checks that each setting has a text, and that each text belongs to a setting or a section.
func CheckTexts[T any](t *testing.T, r *Reader[T]) {
	unused := maps.Clone(r.texts)
	var visit func(section reflect.Type, path string)
	visit = func(section reflect.Type, path string) {
		delete(unused, named(section))
		for _, f := range fields(section) {
			if r.texts.of(section, f) == "" {
				t.Errorf("%s has no text", join(path, f.name))
			}
			delete(unused, named(section)+"."+f.name)
			delete(unused, named(f.typ))
			inner := f.typ
			for kindOf(inner) == isList || kindOf(inner) == isMap {
				inner = inner.Elem()
			}
			if kindOf(inner) == isSection {
				visit(inner, join(path, f.name))
			}
		}
	}
	visit(reflect.TypeFor[T](), "")
	for name := range unused {
		t.Errorf("there is a text about %s, and no setting has that name", name)
	}
}

func TestDeclaredSettings(t *testing.T) {
	r := samples()
	l, err := r.Load(LoadOptions{Path: WriteSettings(t, "plugs: {x: {kind: a, from: me, token: 'env:TOKEN'}}"), Getenv: FakeEnvironment()})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := l.Config.Plugs["x"].Own, (plugSettings{"from": "me", "token": "env:TOKEN"}); !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	found := make(map[string]string)
	l.Texts(FormSecret, func(path, text string) { found[path] = text })
	if found["plugs.x.token"] != "env:TOKEN" {
		t.Errorf("secrets are %v", found)
	}
	_, err = r.Load(LoadOptions{Path: WriteSettings(t, "plugs: {x: {token: word, form: me}}"), Getenv: FakeEnvironment()})
	for _, want := range []string{"plugs.x.token", "did you mean from?"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q in it", err, want)
		}
	}
	if text := string(r.Schema()); !strings.Contains(text, "The sender.") {
		t.Error("the schema lacks a declared setting")
	}
}
