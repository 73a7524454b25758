package media

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"path"
	"strings"

	"github.com/mcp-tools/mcp-tools/internal/text"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/tools/media/chart"
	"github.com/mcp-tools/mcp-tools/tools/media/generated"
	"github.com/mcp-tools/mcp-tools/tools/media/provider/wire"
)

// createImage draws charts and diagrams, and has providers make photos.
type createImage struct{ studio }

type createImageArgs struct {
	Kind    string          `json:"kind,omitempty" hidden:"true" jsonschema:"default: what the other arguments are for" enum:"photo,diagram,chart"`
	Prompt  string          `json:"prompt,omitempty" jsonschema:"content of a photo" alias:"description"`
	Source  string          `json:"source,omitempty" jsonschema:"diagram in Mermaid or dot" alias:"diagram,code,mermaid,dot"`
	Chart   string          `json:"chart,omitempty" jsonschema:"chart, default bar" alias:"chart_type,type" enum:"bar,line,area,pie,scatter"`
	Data    json.RawMessage `json:"data,omitempty" jsonschema:"chart data: CSV with a label and values in each line, JSON, or a file path" alias:"csv,values"`
	Title   string          `json:"title,omitempty" jsonschema:"title, also the file name" alias:"name,filename"`
	XTitle  string          `json:"x_title,omitempty" hidden:"true" jsonschema:"title of the x axis" alias:"x_label,xlabel,x_axis"`
	YTitle  string          `json:"y_title,omitempty" hidden:"true" jsonschema:"title of the y axis" alias:"y_label,ylabel,y_axis,unit"`
	Stacked bool            `json:"stacked,omitempty" hidden:"true" jsonschema:"stack bars or areas"`
	Format  string          `json:"format,omitempty" jsonschema:"file format, default png" enum:"png,svg,jpeg"`
	Aspect  string          `json:"aspect_ratio,omitempty" jsonschema:"width to height, such as 16:9" alias:"aspectRatio,aspect"`
	Images  []string        `json:"images,omitempty" jsonschema:"files to make a photo from" alias:"image,input_images,reference_images" maxitems:"8"`

	Size       string `json:"size,omitempty" hidden:"true" jsonschema:"1K, 2K, 4K or WIDTHxHEIGHT"`
	Quality    string `json:"quality,omitempty" hidden:"true" jsonschema:"low, medium or high"`
	Background string `json:"background,omitempty" hidden:"true" jsonschema:"transparent or opaque"`
	Count      int    `json:"n,omitempty" hidden:"true" jsonschema:"number of photos" alias:"count,num_images" max:"4"`
	Model      string `json:"model,omitempty" hidden:"true" jsonschema:"PROVIDER/MODEL" alias:"provider"`
}

// The kinds of images.
const (
	kindPhoto   = "photo"
	kindDiagram = "diagram"
	kindChart   = "chart"
)

func (createImage) Spec() tool.Spec {
	return tool.Spec{
		Name: "create_image", Group: groupMake, Title: "Create image", Risk: tool.Writes, Viewed: true,
		Hints: tool.Hints{OpenWorld: true}, Timeout: makeTimeout,
		Doc: `Draws a chart or a diagram, or has a model make a photo. Saves it in generated/DATE/.`,
		Also: []string{"image_gen", "image_generate", "generate_image", "tool::image_generate_prompt", "create_chart",
			"create_diagram"},
		Means: map[string]string{
			"create_chart": `{"kind":"chart"}`, "create_diagram": `{"kind":"diagram"}`,
		},
		Keywords: "picture photo drawing illustration generate make draw paint chart graph plot bar line pie scatter " +
			"diagram flowchart sequence mermaid graphviz dot visualise visualize svg png",
	}
}

// kind returns the kind of an image. If it is not given it follows from the other arguments.
func (a createImageArgs) kind() (string, error) {
	kind := a.Kind
	switch {
	case kind != "":
	case a.Source != "":
		kind = kindDiagram
	case len(a.Data) > 0 || a.Chart != "":
		kind = kindChart
	default:
		kind = kindPhoto
	}
	missing := func(name, example string) (string, error) {
		return "", tool.Errorf(tool.Invalid, "create_image: %q is missing", name).Try("send {%s}", example)
	}
	switch {
	case a.Kind == "" && kind == kindPhoto && a.Prompt == "":
		return "", tool.Errorf(tool.Invalid, "create_image: there is nothing to draw").
			Try("send data for a chart, source for a diagram, or prompt for a photo")
	case kind == kindPhoto && a.Prompt == "":
		return missing("prompt", `"prompt":"a red fox at night"`)
	case kind == kindDiagram && a.Source == "":
		return missing("source", `"source":"flowchart LR; A-->B"`)
	case kind == kindChart && len(a.Data) == 0:
		return missing("data", `"chart":"bar","data":"Month,Sales\nJan,3\nFeb,5"`)
	case kind == kindPhoto && a.Format == "svg":
		return "", tool.Errorf(tool.Invalid, "a photo cannot be SVG").Try("use png, or the kind diagram or chart")
	case kind != kindPhoto && a.Format == "jpeg":
		return "", tool.Errorf(tool.Invalid, "a %s cannot be %s", kind, a.Format).Try("use png or svg")
	}
	return kind, nil
}

func (a createImageArgs) photo() wire.PhotoRequest {
	return wire.PhotoRequest{
		To: wire.To{Model: a.Model}, Prompt: a.Prompt, Aspect: a.Aspect, Size: a.Size, Quality: a.Quality,
		Format: a.Format, Background: a.Background, Count: a.Count,
	}
}

func (t createImage) Prepare(_ context.Context, a createImageArgs) (tool.Plan, error) {
	kind, err := a.kind()
	if err != nil {
		return tool.Plan{}, err
	}
	if a.Format == "" && kind != kindPhoto {
		a.Format = "png"
	}
	plan := tool.Plan{}
	switch kind {
	case kindPhoto:
		plan.Ask = t.Providers.Ask(a.photo())
		plan.Run = func(ctx context.Context) (tool.Result, error) { return t.makePhoto(ctx, a) }
	case kindDiagram:
		plan.Run = func(ctx context.Context) (tool.Result, error) { return t.makeDiagram(ctx, a) }
	case kindChart:
		plan.Run = func(ctx context.Context) (tool.Result, error) { return t.makeChart(ctx, a) }
	}
	return plan, nil
}

// maxReference is the size of a picture that a photo is made from, in bytes.
const maxReference = 20 << 20

func (t createImage) makePhoto(ctx context.Context, a createImageArgs) (tool.Result, error) {
	r := a.photo()
	for _, name := range a.Images {
		file, err := t.reference(ctx, name)
		if err != nil {
			return tool.Result{}, err
		}
		r.Pictures = append(r.Pictures, file)
	}
	made, by, err := t.Providers.Photo(ctx, r)
	if err != nil {
		return tool.Result{}, err
	}
	what := "image by " + byline(by)
	var all tool.Result
	for _, file := range made {
		title := cmp.Or(a.Title, a.Prompt)
		saved, err := t.Made.Save(ctx, title, bytes.NewReader(file.Data))
		if err != nil {
			return tool.Result{}, err
		}
		all = all.Add(saved.Result(ctx, what).Parts...)
	}
	for _, note := range by.Notes {
		all = all.Add(tool.Part{Text: "[" + note + "]"})
	}
	return all, nil
}

// reference reads a picture that a provider gets.
func (t createImage) reference(ctx context.Context, name string) (wire.File, error) {
	src, err := t.open(ctx, name, maxReference)
	if err != nil {
		return wire.File{}, err
	}
	defer func() { src.close() }()
	data, err := src.content(maxReference)
	if err != nil {
		return wire.File{}, err
	}
	kind := generated.TypeOf(data)
	if !strings.HasPrefix(kind.MIME, "image/") || kind.MIME == generated.SVG {
		return wire.File{}, tool.Errorf(tool.Invalid, "%q is not a picture that providers accept", src.name).
			Try("send a PNG or JPEG file")
	}
	return wire.File{Name: src.base(), MIME: kind.MIME, Data: data}, nil
}

func (t createImage) makeDiagram(ctx context.Context, a createImageArgs) (tool.Result, error) {
	drawn, err := t.diagram(ctx, a.Source, a.Format)
	if err != nil {
		return tool.Result{}, err
	}
	title := cmp.Or(a.Title, kindDiagram)
	saved, err := t.Made.Save(ctx, title, bytes.NewReader(drawn))
	if err != nil {
		return tool.Result{}, err
	}
	return saved.Result(ctx, kindDiagram), nil
}

func (t createImage) makeChart(ctx context.Context, a createImageArgs) (tool.Result, error) {
	data, err := t.chartData(ctx, a.Data)
	if err != nil {
		return tool.Result{}, err
	}
	a.Chart = cmp.Or(a.Chart, string(chart.Bar))
	c, err := chart.Parse(chart.Kind(a.Chart), data)
	if err != nil {
		return tool.Result{}, tool.Errorf(tool.Invalid, "the chart cannot be drawn: %w", err).
			Try(`send data such as "Month,Sales\nJan,3\nFeb,5"`)
	}
	c.Title, c.YTitle, c.Stacked = a.Title, a.YTitle, a.Stacked
	if a.XTitle != "" {
		c.XTitle = a.XTitle
	}
	title := cmp.Or(a.Title, a.Chart+" chart")
	image, missing, err := c.PNG()
	if err != nil {
		return tool.Result{}, err
	}
	drawing, err := c.SVG()
	if err != nil {
		return tool.Result{}, err
	}
	note := ""
	if missing != 0 {
		// The drawing names no font, so that programs choose one that has the characters.
		if better, err := t.rasterize(ctx, drawing); err == nil {
			image = better
		} else if note = fmt.Sprintf("the font of the PNG lacks %q and other characters; use the format svg",
			missing); ctx.Err() != nil {
			return tool.Result{}, context.Cause(ctx)
		}
	}
	content := image
	if a.Format == "svg" {
		content, note = drawing, ""
	}
	saved, err := t.Made.Save(ctx, title, bytes.NewReader(content))
	if err != nil {
		return tool.Result{}, err
	}
	result := saved.Result(ctx, kindChart)
	if a.Format == "svg" { // few clients show SVG
		result = result.Add(tool.Part{Data: image, MIME: "image/png"})
	}
	if note != "" {
		result = result.Add(tool.Part{Text: "[" + note + "]"})
	}
	if tool.Viewed(ctx) {
		result = result.Showing(c.View(saved.Path))
	}
	return result, nil
}

// maxData is the size of the data of a chart, in bytes.
const maxData = 4 << 20

// chartData returns the data of a chart, perhaps from a file.
func (t createImage) chartData(ctx context.Context, given json.RawMessage) (string, error) {
	var data string
	if json.Unmarshal(given, &data) != nil {
		return string(given), nil
	}
	data = strings.TrimSpace(data)
	if strings.ContainsAny(data, "\n{[") {
		return data, nil
	}
	switch path.Ext(data) {
	case ".csv", ".tsv", ".txt", ".json":
	default:
		return data, nil
	}
	src, err := t.open(ctx, data, maxData)
	if err != nil {
		return "", err
	}
	defer func() { src.close() }()
	content, err := src.content(maxData)
	if err != nil {
		return "", err
	}
	if clean, _ := tool.Clean(string(content)); clean != "" {
		return clean, nil
	}
	return "", tool.Errorf(tool.Invalid, "%q is empty", text.Clip(data, 200)).Try("send the data itself")
}
