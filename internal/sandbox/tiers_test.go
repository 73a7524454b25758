package sandbox

import (
	"context"
	"strings"
	"testing"
)

type fixed struct {
	Launcher
	name   string
	found  ProbeResult
	layout Layout
}

func (f fixed) Name() string                      { return f.name }
func (f fixed) Probe(context.Context) ProbeResult { return f.found }
func (f fixed) Layout(Directories) Layout         { return f.layout }

func TestChoose(t *testing.T) {
	works := ProbeResult{Works: true, Guarantees: []Guarantee{Files}}
	image := fixed{name: "docker", found: works, layout: Layout{Image: true}}
	silent, kernel, host := fixed{name: "silent"}, fixed{name: "kernel", found: works}, fixed{name: Host, found: works}
	tests := []struct {
		name    string
		tiers   Tiers
		mode    string
		require []Guarantee
		want    string // a tier, or a part of the error
	}{
		{"the strongest", NewTiers(image, kernel, host), Auto, nil, "docker"},
		{"a probe that says nothing", NewTiers(silent, kernel), "", nil, "kernel"},
		{"never the host", NewTiers(silent, host), Auto, nil, "silent: it does not work"},
		{"programs of this machine", NewTiers(image, kernel, host), Local, nil, "kernel"},
		{"without a sandbox", NewTiers(image, silent, host), Local, nil, Host},
		{"no program of this machine", NewTiers(image), Local, nil, "no sandbox is configured"},
		{"named", NewTiers(image, kernel, host), Host, nil, Host},
		{"named and required", NewTiers(image, kernel), "kernel", []Guarantee{Memory}, `cannot guarantee "memory"`},
		{"not there", NewTiers(kernel), "docker", nil, "there is no docker sandbox"},
	}
	for _, tt := range tests {
		tier, _, err := tt.tiers.Choose(t.Context(), tt.mode, tt.require...)
		if err == nil && tier.Name() != tt.want || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, %v; want %s", tt.name, tier, err, tt.want)
		}
	}
}

func TestLayout(t *testing.T) {
	l := Layout{Shown: []string{"/usr"}, Binds: []Bind{{Host: "/w", Inside: "/workspace"}, {Host: "/w/in", Inside: "/w/in"}}}
	for host, want := range map[string]string{"/w": "/workspace", "/w/a/b": "/workspace/a/b", "/w/in/c": "/w/in/c", "/way": ""} {
		inside, ok := l.Inside(host)
		if inside != want || ok != (want != "") || ok && l.Outside(inside) != host {
			t.Errorf("%s is at %q, %t, which is %q", host, inside, ok, l.Outside(inside))
		}
	}
	for path, want := range map[string]bool{"/usr/bin/sh": true, "/usr2": false, "/w/a": false, "/w/in": true} {
		if l.Shows(path) != want {
			t.Errorf("%s is shown: %t", path, !want)
		}
	}
}
