package pdf

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"html"
	"io"
	"io/fs"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/mcp-tools/mcp-tools/internal/document"
)

// zoom is the factor of coordinates in pdftohtml's output, which are integers. It is the
// greatest that pdftohtml takes.
const zoom = 3

// maxXMLLine is the max length of a line of pdftohtml's output.
const maxXMLLine = 1 << 20

// A poppler reads a file with the programs of poppler-utils.
type poppler struct {
	path     string
	remove   func()
	password string
}

// openPoppler returns exec.ErrNotFound if poppler is not installed.
func openPoppler(src document.Source) (engine, error) {
	for _, program := range []string{"pdfinfo", "pdftohtml", "pdftoppm", "pdfimages"} {
		if _, err := exec.LookPath(program); err != nil {
			return nil, exec.ErrNotFound
		}
	}
	path, remove, err := onDisk(src)
	if err != nil {
		return nil, err
	}
	return &poppler{path, remove, src.Password}, nil
}

func (p *poppler) close() { p.remove() }

func (p *poppler) command(ctx context.Context, program string, args ...string) *exec.Cmd {
	if p.password != "" {
		args = append([]string{"-upw", p.password, "-opw", p.password}, args...)
	}
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Env = append(os.Environ(), "LC_ALL=C.UTF-8")
	return cmd
}

// output runs a program and returns its stdout. The error has a sentence for the model.
func (p *poppler) output(ctx context.Context, program string, args ...string) ([]byte, error) {
	var out, message bytes.Buffer
	cmd := p.command(ctx, program, args...)
	cmd.Stdout, cmd.Stderr = &out, &message
	if err := cmd.Run(); err != nil {
		return nil, p.failure(ctx, err, message.String())
	}
	return out.Bytes(), nil
}

// failure translates the failure of a program.
func (p *poppler) failure(ctx context.Context, err error, message string) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if exit := new(exec.ExitError); !errors.As(err, &exit) {
		return err
	}
	if strings.Contains(message, "Incorrect password") {
		return errPassword(p.password != "")
	}
	return errBroken()
}

func (p *poppler) info(ctx context.Context) (title string, pages int, err error) {
	out, err := p.output(ctx, "pdfinfo", "-enc", "UTF-8", p.path)
	if err != nil {
		return "", 0, err
	}
	for line := range strings.Lines(string(out)) {
		key, value, _ := strings.Cut(line, ":")
		switch value = strings.TrimSpace(value); key {
		case "Title":
			title = value
		case "Pages":
			pages, _ = strconv.Atoi(value)
		}
	}
	if pages < 1 {
		return "", 0, errBroken()
	}
	return title, pages, nil
}

func pageArgs(first, last int) []string {
	return []string{"-f", strconv.Itoa(first), "-l", strconv.Itoa(last)}
}

func (p *poppler) pages(ctx context.Context, first, last int, visit func(page) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	args := append(pageArgs(first, last), "-xml", "-stdout", "-i", "-hidden", "-nodrm", "-enc", "UTF-8",
		"-zoom", strconv.Itoa(zoom), p.path)
	cmd := p.command(ctx, "pdftohtml", args...)
	var message bytes.Buffer
	cmd.Stderr = &message
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	parsed := parseXML(out, visit)
	if parsed != nil {
		cancel()
	}
	err = cmd.Wait()
	if parsed != nil {
		return parsed
	}
	if err != nil {
		return p.failure(ctx, err, message.String())
	}
	return nil
}

// A font is a font of pdftohtml's output.
type font struct {
	size       float64
	bold, mono bool
}

// parseXML reads the output of pdftohtml, which is XML by its looks only: elements are not
// always nested. Each <page>, <fontspec> and <text> begins a line.
func parseXML(in io.Reader, visit func(page) error) error {
	lines := bufio.NewScanner(in)
	lines.Buffer(make([]byte, 0, 64<<10), maxXMLLine)
	fonts := map[string]font{}
	var p page
	for lines.Scan() {
		line := strings.TrimSpace(lines.Text())
		if at := strings.Index(line, "<page number="); at > 0 && !strings.HasPrefix(line, "<") {
			line = line[at:] // after messages about links
		}
		name, rest, _ := strings.Cut(line, " ")
		switch name {
		case "<page":
			a, _ := attributes(rest)
			number, _ := strconv.Atoi(a["number"])
			p = page{number: number, w: length(a["width"]), h: length(a["height"])}
		case "<fontspec":
			a, _ := attributes(rest)
			bold, mono := fontStyle(a["family"])
			fonts[a["id"]] = font{length(a["size"]), bold, mono}
		case "<text":
			if len(p.runs) >= maxRuns {
				p.cut = true
				continue
			}
			a, content := attributes(rest)
			f := fonts[a["font"]]
			base := run{
				x: length(a["left"]), y: length(a["top"]), w: length(a["width"]), h: length(a["height"]),
				size: f.size, bold: f.bold, mono: f.mono,
			}
			p.runs = append(p.runs, contentRuns(base, strings.TrimSuffix(content, "</text>"))...)
		case "</page>":
			if err := visit(p); err != nil {
				return err
			}
			p = page{}
		}
	}
	if errors.Is(lines.Err(), bufio.ErrTooLong) {
		return document.Errorf(document.ErrTooBig, "a line of text is longer than 1 MB")
	}
	return lines.Err()
}

// length converts a coordinate to points. Nonsense is 0.
func length(text string) float64 {
	n, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(n) || math.Abs(n) > 1e7 {
		return 0
	}
	return n / zoom
}

// attributes reads the attributes of an element, and returns what follows it.
func attributes(text string) (map[string]string, string) {
	all := map[string]string{}
	for {
		text = strings.TrimLeft(text, " ")
		if after, ok := strings.CutPrefix(text, ">"); ok {
			return all, after
		}
		name, rest, ok := strings.Cut(text, `="`)
		if !ok {
			return all, ""
		}
		value, rest, ok := strings.Cut(rest, `"`)
		if !ok {
			return all, ""
		}
		all[name], text = html.UnescapeString(value), rest
	}
}

// contentRuns splits the content of a <text> element by the elements within: <b>, <i> and
// <a href>. The width is divided by the number of characters.
func contentRuns(base run, content string) []run {
	var all []run
	one := base
	for content != "" {
		text, rest, found := strings.Cut(content, "<")
		if text = html.UnescapeString(text); text != "" {
			one.text = text
			all = append(all, one)
		}
		if !found {
			break
		}
		var tag string
		tag, content, _ = strings.Cut(rest, ">")
		switch name, rest, _ := strings.Cut(tag, " "); name {
		case "b":
			one.bold = true
		case "/b":
			one.bold = base.bold
		case "a":
			a, _ := attributes(rest + ">")
			one.href = outside(a["href"])
		case "/a":
			one.href = ""
		}
	}
	total := 0
	for _, r := range all {
		total += len(r.text)
	}
	at := 0
	for i := range all {
		all[i].x = base.x + base.w*float64(at)/float64(total)
		all[i].w = base.w * float64(len(all[i].text)) / float64(total)
		at += len(all[i].text)
	}
	return all
}

// outside returns a link if it leads out of the file.
func outside(href string) string {
	for _, scheme := range []string{"http:", "https:", "mailto:", "ftp:"} {
		if len(href) > len(scheme) && strings.EqualFold(href[:len(scheme)], scheme) {
			return href
		}
	}
	return ""
}

// fontStyle derives from the name of a font whether it is bold and monospaced.
func fontStyle(name string) (bold, mono bool) {
	if _, after, ok := strings.Cut(name, "+"); ok {
		name = after
	}
	name = strings.ToLower(name)
	has := func(parts ...string) bool {
		return slices.ContainsFunc(parts, func(p string) bool { return strings.Contains(name, p) })
	}
	bold = has("bold", "black", "heavy", "semibold", "demi", "cmbx", "sfbx", "cmssbx") ||
		strings.HasSuffix(name, "-medi") || strings.HasSuffix(name, "-bd")
	mono = has("mono", "courier", "consol", "typewriter", "cmtt", "cmsltt", "sftt", "ectt", "menlo", "inconsolata",
		"nimbusmon", "lettergothic", "beramono", "source code", "sourcecode", "txtt")
	return bold, mono
}

// pictures reads the table that pdfimages -list prints:
//
//	page   num  type   width height color comp bpc  enc interp  object ID x-ppi y-ppi size ratio
//	   1     0 image    1024   768  rgb     3   8  jpeg   no         9  0   300   300 245K  11%
func (p *poppler) pictures(ctx context.Context, first, last int) ([]picture, error) {
	out, err := p.output(ctx, "pdfimages", append(pageArgs(first, last), "-list", p.path)...)
	if err != nil {
		return nil, err
	}
	var all []picture
	index, files := map[int]int{}, map[int]int{}
	for line := range strings.Lines(string(out)) {
		f := strings.Fields(line)
		if len(f) < 14 {
			continue
		}
		number := func(at int) int { n, _ := strconv.Atoi(f[at]); return n }
		one := picture{page: number(0), w: number(3), h: number(4), jpeg: f[8] == "jpeg", size: bytesOf(f[len(f)-2])}
		one.file = files[one.page]
		if files[one.page]++; f[2] != "image" { // a mask has a number, too
			continue
		}
		if f[10] != "[inline]" {
			one.object = f[10] + " " + f[11]
		}
		if x, y := number(len(f)-4), number(len(f)-3); x > 0 && y > 0 {
			one.share = float64(one.w) / float64(x) * float64(one.h) / float64(y) * pointsPerInch * pointsPerInch
		}
		index[one.page]++
		one.index = index[one.page]
		all = append(all, one)
	}
	return all, nil
}

// bytesOf reads a size such as 512B, 45.1K or 2M.
func bytesOf(text string) int64 {
	unit := 1.0
	if n := len(text); n > 0 {
		switch text[n-1] {
		case 'K':
			unit = 1 << 10
		case 'M':
			unit = 1 << 20
		case 'G':
			unit = 1 << 30
		}
		text = strings.TrimRight(text, "BKMG")
	}
	n, _ := strconv.ParseFloat(text, 64)
	return int64(n * unit)
}

// content writes the pictures of the page to files, since pdfimages cannot write a single one.
func (p *poppler) content(ctx context.Context, wanted picture) ([]byte, error) {
	dir, err := os.MkdirTemp("", "pictures-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	args := append(pageArgs(wanted.page, wanted.page), "-png", "-j", p.path, filepath.Join(dir, "p"))
	if _, err := p.output(ctx, "pdfimages", args...); err != nil {
		return nil, err
	}
	data, err := os.ReadFile(filepath.Join(dir, fmt.Sprintf("p-%03d%s", wanted.file, filepath.Ext(wanted.name()))))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, errBroken()
	}
	return data, err
}

func (p *poppler) draw(ctx context.Context, number int, dpi float64, grey bool) ([]byte, error) {
	out, err := p.output(ctx, "pdfinfo", append(pageArgs(number, number), p.path)...)
	if err != nil {
		return nil, err
	}
	var w, h float64
	for line := range strings.Lines(string(out)) {
		if f := strings.Fields(line); len(f) >= 6 && f[0] == "Page" && f[2] == "size:" {
			w, _ = strconv.ParseFloat(f[3], 64)
			h, _ = strconv.ParseFloat(f[5], 64)
		}
	}
	args := append(pageArgs(number, number), "-singlefile", "-r", fmt.Sprintf("%.1f", boundDPI(dpi, w, h)))
	if grey {
		args = append(args, "-gray")
	} else {
		args = append(args, "-png")
	}
	return p.output(ctx, "pdftoppm", append(args, p.path)...)
}

// boundDPI lowers the resolution for pages that are large.
func boundDPI(dpi, w, h float64) float64 {
	area := w * h / pointsPerInch / pointsPerInch
	if area*dpi*dpi <= maxPixels {
		return dpi
	}
	return math.Sqrt(maxPixels / area)
}
