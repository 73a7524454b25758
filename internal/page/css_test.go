package page

import (
	"strings"
	"testing"
)

// TestStylesThatHide has text that is hidden by its own style, by the style sheet,
// and by the style of an element around it.
func TestStylesThatHide(t *testing.T) {
	for _, style := range []string{
		"clip-path: inset(50%)", "clip-path:inset( 50% 50% )", "clip-path: inset(100%)", "clip-path: inset(0 100% 0 0)",
		"clip-path: inset(9999px)", "-webkit-clip-path: inset(51%) content-box",
		"clip-path: circle(0)", "clip-path: circle(0px at 50% 50%)", "clip-path: circle(0% at center)",
		"clip-path: ellipse(0 50%)", "clip-path: polygon(0 0, 0 0, 0 0)",
		"clip-path: polygon(0px 0px, 0px 0px,0px 0px, 0px 0px)",
		"CLIP-PATH: CIRCLE(0)", "clip-path: none; clip-path: circle(0)", "clip-path:circle(0)!important;clip-path:none",
		"transform: scale(0)", "transform: scale( 0 , 1 )", "transform: scaleY(0)", "transform: scale(0); zoom: 1",
		"transform: translateX(-9999px)", "translate: -9999px", "scale: 0; translate: 0", "zoom: 0",
		"font: 0/0 a", "font: bold 0px serif", "color: #fff", "color: rgba(0 0 0 / 0)", "text-indent: -9999px",
		"position: absolute; left: -99em", "position: absolute; clip: rect(0 0 0 0)", "width: 0; height: 0; overflow: hidden",
		"mask-image: linear-gradient(transparent, transparent)", "-webkit-mask: linear-gradient(to top, #0000 0%, #0000)",
		"mask: radial-gradient(circle, rgba(0,0,0,0), rgb(0 0 0 / 0)) no-repeat", "mask-image:linear-gradient(transparent 0 0)",
		"line-height: 0; overflow: hidden", "font: 12px/0 serif; overflow: hidden", "line-height:0px;overflow:clip",
		"filter: opacity(0)", "content-visibility: hidden", `displ\61y: no\6e e`, "opacity:0; /* : */ color: red",
	} {
		for name, source := range map[string]string{
			"own":    `<p style="` + style + `">CANARY</p>`,
			"sheet":  "<style>.x{" + style + "}</style><p class=x>CANARY</p>",
			"parent": `<div style="` + style + `"><div><p>CANARY</p></div></div>`,
		} {
			p := read(t, "<p>visible</p>"+source, Options{Whole: true})
			if strings.Contains(p.Text, "CANARY") || p.Hidden.Elements == 0 || !strings.Contains(p.Text, "visible") {
				t.Errorf("%s, %s: %q", name, style, p.Text)
			}
		}
	}
}

// TestStylesThatDoNotHide has what sites do with icons, avatars, carousels and cards.
func TestStylesThatDoNotHide(t *testing.T) {
	for _, style := range []string{
		"clip-path: none", "clip-path: inset(0)", "clip-path: inset(10% 20%)", "clip-path: inset(49%)",
		"clip-path: inset(0 50% 0 0)", "clip-path: inset(50% 0 0 0)", "clip-path: inset(0 round 12px)",
		"clip-path: circle(50%)", "clip-path: circle()", "clip-path: circle(0.5px at 0 0)",
		"clip-path: circle(calc(0px + 10px))", "clip-path: ellipse(10% 20%)",
		"clip-path: polygon(0 0, 100% 0, 100% 90%, 0 100%)", "clip-path: polygon(50% 0, 100% 100%, 0 100%)",
		"clip-path: polygon(0 0, 100% 100%, 100% 0, 0 100%)", "clip-path: polygon(0 0, 100% 0px, calc(1px) 0)",
		"clip-path: polygon(0 0, 0 0, 100% 0, 100% 100%)", "clip-path: url(#wave)", "clip-path: path('M0 0 L1 1')",
		"clip-path: circle(0); clip-path: none",
		"transform: scale(1.1)", "transform: rotate(90deg)", "transform: rotateY(180deg)",
		"transform: rotateY(90deg) translateZ(150px)", "transform: rotateX(45deg)", "transform: rotate3d(0,1,0,45deg)",
		"rotate: 90deg", "rotate: z 90deg", "rotate: y 180deg", "transform: none", "transform: rotatex(ninety)",
		"line-height: 0", "line-height: 0; overflow: hidden; height: 20px", "line-height: 0; overflow: hidden; line-height: 1",
		"line-height: 0; font: 12px serif; overflow: hidden", "line-height: 0; padding: 50% 0; overflow: hidden",
		"mask-image: linear-gradient(transparent, transparent); mask-image: none",
		"mask: url(icon.svg)", "mask-image: url(a.svg), linear-gradient(transparent, transparent)",
		"mask-image: linear-gradient(black, transparent)", "mask-image: linear-gradient(rebeccapurple, transparent)",
		"mask-image: linear-gradient(to bottom, transparent, #000 10%)", "mask: none",
		"mask-image: linear-gradient(90deg, transparent, var(--x))", "mask-image: linear-gradient(",
		"mask-image: radial-gradient(circle at center, #000 60%, transparent)",
	} {
		source := "<style>.x{" + style + `}</style><p class=x>one</p><p style="` + style + `">two</p>`
		if p := read(t, source, Options{Whole: true}); p.Text != "one\n\ntwo" || p.Hidden.Elements != 0 {
			t.Errorf("%s: %q", style, p.Text)
		}
	}
}

// TestFlatLinesAroundText has what sites put around pictures: no height for the lines, but for the caption.
func TestFlatLinesAroundText(t *testing.T) {
	const page = `<div style="line-height:0;overflow:hidden"><b>gone</b><p style="line-height:1.5">caption</p></div>`
	if p := read(t, "<p>first</p>"+page, Options{Whole: true}); p.Text != "first\n\ncaption" {
		t.Errorf("%q", p.Text)
	}
}

// TestFadedInText has texts that scripts fade in as one scrolls.
func TestFadedInText(t *testing.T) {
	const script = "<script src=a.js></script><p>first</p>"
	for source, hides := range map[string]bool{
		"<style>.r{opacity:0;transition:opacity 1s}</style><p class=r>CANARY":  false,
		`<p style="opacity:0;transform:translateY(20px) translateZ(0)">CANARY`: false,
		`<p style="opacity:0;will-change:opacity">CANARY`:                      false,
		`<p style="opacity:0">CANARY`:                                          true,
		`<p style="opacity:0;transition:none">CANARY`:                          true,
		`<p style="opacity:0;transform:translateX(-9999px)">CANARY`:            true,
	} {
		if p := read(t, script+source, Options{Whole: true}); strings.Contains(p.Text, "CANARY") == hides {
			t.Errorf("%s: %q", source, p.Text)
		}
		if p := read(t, "<p>first</p>"+source, Options{Whole: true}); strings.Contains(p.Text, "CANARY") {
			t.Errorf("without a script, %s: %q", source, p.Text)
		}
	}
}

// TestClearBackgrounds has dark text on backgrounds that let most of what is beneath through.
func TestClearBackgrounds(t *testing.T) {
	for style, hides := range map[string]bool{
		"background:rgba(0,0,0,.05);color:#111": false, "background:rgb(0 0 0 / 5%);color:#000": false,
		"background:#0000000d;color:#000": false, "background:rgba(255,255,255,.8);color:#fff": false,
		"background:rgba(255,255,255,.95);color:#fff": true, "background:#ffffffff;color:#fff": true,
		"background:hsl(0 0% 100%);color:#fff": true, "background:hsla(0,0%,0%,.1);color:#000": false,
		"background:beige;color:#f5f5dc": true, "background:hsl(120 100% 25%);color:green": true, "background:oklch(1 0 0);color:#fff": true,
		"color:rgb(": false, "color:rgb(nan nan nan / nan)": false,
	} {
		p := read(t, "<p>first</p><pre style='"+style+"'>CANARY</pre>", Options{Whole: true})
		if strings.Contains(p.Text, "CANARY") == hides {
			t.Errorf("%s: %q", style, p.Text)
		}
	}
}

// TestLayoutClasses has class names that only look like those of hidden elements.
func TestLayoutClasses(t *testing.T) {
	p := read(t, `<div class="row collapse"><p>one</p></div><div class="panel-collapse collapse"><p>two</p></div>`,
		Options{Whole: true})
	if p.Text != "one\n\ntwo" {
		t.Errorf("%q", p.Text)
	}
}

func TestSheetSelectors(t *testing.T) {
	const page = `<div id=i class="a b" data-h=1><p class="md:x c">CANARY</p></div>`
	for selector, hides := range map[string]bool{
		"p": true, "P": true, ".c": true, "#i": true, "div p": true, "#i > p": true, ".a.b .c": true, "[data-h='1']": true,
		"*": true, "div[data-h] > .c": true, `.md\:x`: true, "x, .c": true, ".c:not(.d)": true, "p:first-child": true,
		"b p": false, "p p": false, ".c > p": false, ".d": false, ".a + .c": false, "p:hover": false, "p::before": false,
		".c:not(.a, .c)": false, "div:has(p)": false, "p:nth-child(1)": false, "@media print{p": false, "<!-- p": true,
	} {
		p := read(t, "<style>"+selector+"{display:none}</style><b>first</b>"+page, Options{Whole: true})
		if strings.Contains(p.Text, "CANARY") == hides {
			t.Errorf("%s: %q", selector, p.Text)
		}
	}
}

func TestAnimationsThatShow(t *testing.T) {
	for style, hides := range map[string]bool{
		"opacity:0;animation:in 1s forwards": false, "opacity:0;animation-name:in;animation-duration:2s": false,
		"opacity:0;animation:none": true, "display:none;animation:in 1s": true, "opacity:0;transition:opacity 1s": true,
		"visibility:hidden;animation:in 1s": true, "opacity:0;font-size:0;animation:in 1s": true,
	} {
		p := read(t, "<style>.x{"+style+"}</style><p>first</p><p class=x>CANARY</p>", Options{Whole: true})
		if strings.Contains(p.Text, "CANARY") == hides {
			t.Errorf("%s: %q", style, p.Text)
		}
	}
}

func TestMediaQueries(t *testing.T) {
	for media, want := range map[string]bool{
		"": true, "all": true, "screen": true, "SCREEN": true, "only screen": true, "print, screen": true,
		"print": false, "speech": false, "not screen": false, "not all": false,
		"(min-width:600px)": true, "(min-width: 48em)": true, "(min-width: 1281px)": false, "(max-width: 767.98px)": false,
		"(max-width: 1280px)": true, "screen and (min-width: 768px)": true, "screen and (max-width: 768px)": false,
		"(min-width:600px) and (max-width:900px)": false,
		"(width >= 600px)":                        true, "(width<600px)": false, "(400px <= width <= 1600px)": true,
		"(400px < width < 700px)": false, "(600px <= width)": true, "(width >= calc(1px + 1em))": false,
		"(orientation: landscape)": true, "(orientation: portrait)": false, "(hover: hover)": true,
		"(prefers-color-scheme: dark)": false, "(prefers-color-scheme: light)": true,
		"(prefers-reduced-motion: reduce)": false, "(min-resolution: 2dppx)": false,
		"screen and (-webkit-min-device-pixel-ratio: 0)": true, "(max-width: 600px), (min-width: 700px)": true,
		"(": false,
	} {
		if forScreen(media) != want {
			t.Errorf("%q: %v", media, !want)
		}
	}
	for source, hidden := range map[string]bool{
		// Only for large screens.
		`<style>.x{display:none}@media(min-width:600px){.x{display:block}}</style><p class=x>CANARY</p>`: false,
		`<style>@media (min-width:1px){.x{display:none}}</style><p class=x>CANARY</p>`:                   true,
		`<style>@media (max-width:600px){.x{display:none}}</style><p class=x>CANARY</p>`:                 false,
		`<style media="(min-width: 1px)">.x{display:none}</style><p class=x>CANARY</p>`:                  true,
		`<style>@media (width >= 1px){@media screen{.x{display:none}}}</style><p class=x>CANARY</p>`:     true,
		`<style>@media print{.x{display:none}}</style><p class=x>CANARY</p>`:                             false,
		`<style>@supports(display:grid){.x{display:none}}</style><p class=x>CANARY</p>`:                  true,
		`<style>@layer a{.x{display:none}}</style><p class=x>CANARY</p>`:                                 true,
	} {
		if p := read(t, "<p>first</p>"+source, Options{Whole: true}); strings.Contains(p.Text, "CANARY") == hidden {
			t.Errorf("%s: %q", source, p.Text)
		}
	}
}

func FuzzMedia(f *testing.F) {
	f.Add("only screen and (400px<=width<90em), print")
	f.Add("(min-width:calc(1px))")
	f.Fuzz(func(_ *testing.T, media string) { forScreen(media) })
}

func FuzzStyles(f *testing.F) {
	f.Add("clip-path", "polygon(0 0, 1px 1px)")
	f.Add("color", "rgb(0 0 0 / 0)")
	f.Add("transform", "translate(1px, 2%)")
	f.Add("display", "var(--a, none)")
	f.Fuzz(func(t *testing.T, property, value string) {
		if strings.ContainsAny(property+value, "\"<>&\x00\r") {
			return
		}
		read(t, `<style>:root{--a:`+value+`}</style><p style="`+property+":"+value+`">x</p>`, Options{Whole: true})
	})
}
