package page

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// hiding are ways to hide text on a page; %s is the text.
var hiding = []string{
	`<p hidden>%s</p>`, `<div style="display:none!important"><b>%s</b></div>`, `<!-- %s -->`, `<template>%s</template>`, `<i aria-hidden=true>%s</i>`,
	`<script>%s</script>`, `<style>%s</style>`, `<input type=hidden value="%s">`, `<span class="sr-only">%s</span>`, `<svg><text>%s</text></svg>`,
}

// FuzzRead puts hidden text at the beginning of pages. It must not be returned.
func FuzzRead(f *testing.F) {
	files, err := filepath.Glob(pages + "/*.html")
	if err != nil {
		f.Fatal(err)
	}
	for i, file := range files {
		body, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(body, uint8(i), uint8(i%3))
	}
	f.Add([]byte("<p><b>x<table><td><svg><p>a<math><mi>"), uint8(1), uint8(0))
	f.Fuzz(func(t *testing.T, body []byte, which, format uint8) {
		const canary = "Kanarienvogel"
		if strings.Contains(string(body), canary) {
			return
		}
		// At the beginning, where no open element can turn tags into text.
		trap := strings.ReplaceAll(hiding[int(which)%len(hiding)], "%s", canary)
		page := append([]byte("<!doctype html><body>"+trap), body...)
		o := Options{URL: origin(t), ContentType: "text/html; charset=utf-8",
			Format: []Format{Markdown, Text, HTML}[format%3], Links: true, Whole: which%2 == 0}
		p, err := Read(t.Context(), page, o)
		if err != nil {
			return
		}
		if strings.Contains(p.Text+p.Title+p.Author+p.Description, canary) {
			t.Errorf("hidden by %s and shown in %q", trap, p.Text)
		}
		if len(p.Text) > 4*len(page)*4+1<<16 {
			t.Errorf("%d bytes became %d", len(page), len(p.Text))
		}
		if clean, removed := tool.Clean(p.Text); removed > 0 {
			t.Errorf("invisible characters: %q, not %q", p.Text, clean)
		}
	})
}

// FuzzSelector checks that no selector makes the parsers panic.
func FuzzSelector(f *testing.F) {
	for _, s := range []string{"main > p.a", "#x, [href^='/a b']", "a:not(.b) ~ c", "li:first-child", ":has(a)", "a >> b", ",", "a[b", `\`, "*"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, selector string) {
		Read(t.Context(), []byte("<main id=x><p class=a>one<p>two <a href='/a b'>l</a></main>"), Options{Selector: selector})
		readSheet([]string{selector + "{display:none}", selector})
	})
}
