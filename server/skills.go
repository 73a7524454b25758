package server

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"path"
	"slices"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/mcp-tools/mcp-tools/internal/jsonrpc"
	"github.com/mcp-tools/mcp-tools/internal/markdown"
	"github.com/mcp-tools/mcp-tools/internal/text"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/policy"
)

// This file serves the skills extension: clients list skills with the digests of their files, and read the files with
// resources/read. The requests take the steps of the library, under the policy of the tool that governs skills. A
// digest is computed from the file as the caller reads it, without credentials.
//
// A skill that breaks a rule of the extension is left out; the tools have it: its name is not that of its directory,
// its front matter is not plain YAML, or it has a file that is too large to be sent.

// A SkillLibrary has skills, each a directory with SKILL.md and other files. It answers for the caller of the running
// request, and shows only skills that the caller may use. The URI of a file is skill://NAME/PATH, and Library.Read
// returns its content.
type SkillLibrary interface {
	// SkillURIs lists the URIs of SKILL.md of all skills.
	SkillURIs(ctx context.Context) ([]string, error)
	// SkillFiles returns all files of the skill with this URI of SKILL.md, as Library.Read returns each. The error is
	// a [tool.Error]: NotFound without such a skill, Invalid or TooLarge if not all files can be read.
	SkillFiles(ctx context.Context, uri string) ([]tool.Part, error)
	// SkillDirectory lists the files and directories in a directory of a skill; the type of a directory is inode/directory. The
	// error is NotFound if there is no such directory.
	SkillDirectory(ctx context.Context, uri string) ([]tool.Resource, error)
}

// skillsExtension is the name of the extension among the capabilities.
const skillsExtension = "io.modelcontextprotocol/skills"

// The methods of the extension.
const (
	methodSkillsList    = "skills/list"
	methodSkillsGet     = "skills/get"
	methodDirectoryRead = "resources/directory/read"
)

// aboutSkills reports whether a method is one of the extension.
func aboutSkills(method mcp.MCPMethod) bool {
	return method == methodSkillsList || method == methodSkillsGet || method == methodDirectoryRead
}

const (
	// anySkill stands for all skills where the policy decides.
	anySkill = "skill://any" + skillMain
	// skillMain ends the URI of a skill.
	skillMain = "/SKILL.md"

	// maxSkillFiles and maxSkillBytes are the limits of a skill, by the extension.
	maxSkillFiles = 512
	maxSkillBytes = 16 << 20
	// A page of skills has at most skillsPerPage skills and maxSkillPage bytes, or one skill, and ends when the server
	// has read maxSkillBytes for it. A page of a directory has filesPerPage.
	skillsPerPage = 50
	maxSkillPage  = 1 << 20
	filesPerPage  = 200
)

// A Skill is one skill as clients get it.
type Skill struct {
	URI         string         `json:"uri"`
	FrontMatter map[string]any `json:"frontmatter"`
	Files       []SkillFile    `json:"resources"`
}

// A SkillFile is one file of a skill.
type SkillFile struct {
	URI    string `json:"uri"`
	Digest string `json:"digest"` // sha256: and hexadecimal digits
	Size   int    `json:"size"`   // in bytes
}

// size returns the size of the entry of a skill in a list, in bytes.
func (s Skill) size() int {
	written, _ := text.JSON(s) // strings and numbers
	return len(written)
}

// seesSkills reports whether the policy lets the caller use skills.
func (x *rpcRequest) seesSkills() bool {
	s := x.session.server
	if s.Skills == nil {
		return false
	}
	t, ok := s.governingTool(Ref{URI: anySkill})
	return ok && s.settings().verdict(x.access, t.Spec.Name) == policy.Allow
}

// serveSkills answers the methods of the extension.
func (x *rpcRequest) serveSkills(ctx context.Context) []byte {
	m := x.msg
	x.asked = &LibraryRequest{Access: x.access, Method: mcp.MCPMethod(m.Method), Trace: m.Meta.Trace}
	if wrong := x.asked.parseParams(m.Params); wrong != nil {
		return x.failure(wrong)
	}
	found := x.query(ctx)
	if x.refused != nil {
		return x.failure(x.refused)
	}
	type page struct {
		Skills *[]Skill        `json:"skills,omitempty"`
		Skill  *Skill          `json:"skill,omitempty"`
		Files  *[]mcp.Resource `json:"resources,omitempty"`
		Next   string          `json:"nextCursor,omitempty"`
		TTL    int64           `json:"ttlMs,omitempty"`
		Scope  mcp.CacheScope  `json:"cacheScope,omitempty"`
	}
	p := page{Next: found.Next, TTL: listTTL.Milliseconds(), Scope: mcp.CacheScopePrivate}
	switch m.Method {
	case methodSkillsList:
		list := append([]Skill{}, found.Skills...)
		p.Skills = &list
	case methodSkillsGet:
		p.Skill = &found.Skills[0]
	default:
		list := convert(found.Resources, protocolResource)
		p = page{Files: &list, Next: found.Next}
	}
	written, err := text.JSON(p)
	if err != nil {
		return x.failure(jsonrpc.Errorf(mcp.INTERNAL_ERROR, "the result could not be written"))
	}
	return jsonrpc.Respond(m.ID, `,"result":`, stamped(written, x.session.server.resultStamp))
}

// listSkills returns one page of the skills that may accepts.
func (c *call) listSkills(ctx context.Context, cursor string, may func(Ref) bool) (list []Skill, next string, err error) {
	uris, err := c.server.Skills.SkillURIs(ctx)
	if err != nil {
		return nil, "", err
	}
	uris = keepIf(uris, func(uri string) bool { return may(Ref{URI: uri}) })
	uris, err = after(uris, cursor, func(uri string) string { return uri })
	if err != nil {
		return nil, "", err
	}
	room, last := min(c.now.Limits.ResultHard/2, maxSkillPage), "" // the response has more than the entries
	for read := 0; len(uris) > 0; uris = uris[1:] {
		if len(list) == skillsPerPage || read > maxSkillBytes {
			return list, cursorAfter(last), nil
		}
		uri := uris[0]
		one, err := c.skill(ctx, uri)
		if known := tool.AsError(err); err != nil && known.Kind != tool.NotFound && known.Kind != tool.Invalid &&
			known.Kind != tool.TooLarge {
			return nil, "", err
		}
		if err != nil {
			c.server.log.Debug("a skill is not served", "err", err)
			continue
		}
		if room -= one.size(); room < 0 && len(list) > 0 {
			return list, cursorAfter(last), nil
		}
		for _, f := range one.Files {
			read += f.Size
		}
		list, last = append(list, one), uri
	}
	return list, "", nil
}

// skill returns a skill, without credentials.
func (c *call) skill(ctx context.Context, uri string) (one Skill, err error) {
	parts, err := c.server.Skills.SkillFiles(ctx, uri)
	if err != nil {
		return one, err
	}
	unserved := func(why string) error {
		return tool.Errorf(tool.Invalid, "the skill at %s cannot be served: %s", text.Clip(uri, jsonrpc.MaxQuoted), why).
			Try("use the tools for skills")
	}
	r := redactor{scrub: c.server.scrubFor(c.Caller)}
	one.URI = uri
	total, main := 0, ""
	for _, p := range parts {
		if r.text(p.URI) != p.URI { // nobody could read it by the other name
			return one, unserved("the name of a file has a credential")
		}
		clean := r.parts([]tool.Part{p})[0]
		content := clean.Data
		if content == nil {
			content = []byte(clean.Text)
		}
		if p.URI == uri {
			main = clean.Text
		}
		digest := sha256.Sum256(content)
		one.Files = append(one.Files, SkillFile{p.URI, "sha256:" + hex.EncodeToString(digest[:]), len(content)})
		total += len(content)
	}
	if len(one.Files) > maxSkillFiles || total > maxSkillBytes || one.size() > c.now.Limits.ResultHard/2 {
		return one, unserved("it has more files, or more bytes, than clients take")
	}
	if one.FrontMatter, err = markdown.Verbatim(main); err != nil {
		return one, unserved("its front matter is not plain YAML: " + err.Error())
	}
	name, _ := one.FrontMatter["name"].(string)
	about, _ := one.FrontMatter["description"].(string)
	if name != path.Base(strings.TrimSuffix(uri, skillMain)) || about == "" {
		return one, unserved("its front matter has no description, or another name than its directory")
	}
	written, err := text.JSON(one.FrontMatter)
	if err != nil || string(c.server.scrub.JSON(written)) != string(written) { // it must be the digest of the file
		return one, unserved("its front matter has a credential")
	}
	return one, nil
}

// readDirectory returns one page of a directory of a skill.
func (c *call) readDirectory(ctx context.Context, uri, cursor string) (list []tool.Resource, next string, err error) {
	if list, err = c.server.Skills.SkillDirectory(ctx, uri); err != nil {
		return nil, "", err
	}
	if list, err = after(list, cursor, func(r tool.Resource) string { return r.URI }); err != nil {
		return nil, "", err
	}
	if len(list) > filesPerPage {
		list = list[:filesPerPage]
		next = cursorAfter(list[filesPerPage-1].URI)
	}
	return list, next, nil
}

// cursorAfter returns the cursor of the page that begins after a URI.
func cursorAfter(uri string) string { return base64.RawURLEncoding.EncodeToString([]byte(uri)) }

// after sorts a list by URI, and returns the part of it after a cursor.
func after[T any](list []T, cursor string, uri func(T) string) ([]T, error) {
	list = slices.SortedFunc(slices.Values(list), func(a, b T) int { return strings.Compare(uri(a), uri(b)) })
	if cursor == "" {
		return list, nil
	}
	last, err := base64.RawURLEncoding.DecodeString(cursor)
	if err != nil {
		return nil, tool.Errorf(tool.Invalid, "params.cursor is not one that this method has returned").
			Try("begin without a cursor")
	}
	return keepIf(list, func(one T) bool { return uri(one) > string(last) }), nil
}
