package main

import (
	"debug/buildinfo"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"os"
	"runtime/debug"
	"strings"
	"time"
)

// A component is a module in a bill of materials (CycloneDX 1.6).
type component struct {
	Type    string `json:"type"`
	Ref     string `json:"bom-ref"`
	Name    string `json:"name"`
	Version string `json:"version"`
	PURL    string `json:"purl"`
	Hashes  []hash `json:"hashes,omitempty"`
}

type hash struct {
	Alg     string `json:"alg"`
	Content string `json:"content"`
}

// bills writes the modules that each program was built from, as Go has written them into it.
func (r *release) bills() error {
	for _, p := range r.programs {
		info, err := buildinfo.ReadFile(p.path)
		if err != nil {
			return err
		}
		text, err := json.MarshalIndent(bill(info, r.version, r.date), "", "  ")
		if err != nil {
			return err
		}
		if err := os.WriteFile(r.path(r.name(p, ".cdx.json")), append(text, '\n'), 0o644); err != nil {
			return err
		}
	}
	return nil
}

func bill(info *debug.BuildInfo, version string, date time.Time) map[string]any {
	main := componentOf(&info.Main, "application")
	main.Version = version
	parts := []component{{
		Type: "library", Ref: "pkg:golang/std@" + info.GoVersion, Name: "std", Version: info.GoVersion,
		PURL: "pkg:golang/std@" + strings.TrimPrefix(info.GoVersion, "go"),
	}}
	var needs []string
	for _, module := range info.Deps {
		if module.Replace != nil {
			module = module.Replace
		}
		parts = append(parts, componentOf(module, "library"))
	}
	for _, part := range parts {
		needs = append(needs, part.Ref)
	}
	return map[string]any{
		"bomFormat": "CycloneDX", "specVersion": "1.6", "version": 1,
		"metadata":     map[string]any{"timestamp": date.UTC().Format(time.RFC3339), "component": main},
		"components":   parts,
		"dependencies": []map[string]any{{"ref": main.Ref, "dependsOn": needs}},
	}
}

func componentOf(m *debug.Module, kind string) component {
	url := "pkg:golang/" + m.Path + "@" + m.Version
	c := component{Type: kind, Ref: url, Name: m.Path, Version: m.Version, PURL: url}
	if sum, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(m.Sum, "h1:")); err == nil && len(sum) == 32 {
		c.Hashes = []hash{{"SHA-256", hex.EncodeToString(sum)}}
	}
	return c
}
