package code

import (
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/mcp-tools/mcp-tools/internal/text"
)

// A language is a programming language.
type language struct {
	name string
	// files are the endings of its files, each with the name that the protocol has for them.
	files map[string]string
	// also are names of other files that a server wants to hear about.
	also []string
	// servers are the known language servers, the best first.
	servers [][]string
	environ []string
	config  map[string]any // of its server, by section
	options map[string]any // of the handshake
	// indexes says that a server answers about the workspace only after it has read it in the background.
	indexes bool
	// says are words of its message that the workspace has been read, by the name of the program.
	says map[string]string
	// narrow says that a server knows only the files that are open, if the workspace does not say how it is built.
	narrow bool
	// problems are requests to tsserver for the problems of a file. What it reports by itself comes in parts.
	problems []string
	// defines match lines that define the symbol "n", perhaps in "c".
	defines []func() *regexp.Regexp
}

func patterns(all ...string) (compiled []func() *regexp.Regexp) {
	for _, one := range all {
		compiled = append(compiled, text.Pattern(one))
	}
	return compiled
}

// languages returns the known languages.
func languages() []*language {
	script := map[string]string{
		".ts": "typescript", ".mts": "typescript", ".cts": "typescript", ".tsx": "typescriptreact", ".js": "javascript",
		".mjs": "javascript", ".cjs": "javascript", ".jsx": "javascriptreact",
	}
	const modifiers = `(?:(?:public|private|protected|internal|static|final|abstract|sealed|override|open|data|async|virtual|` +
		`default|synchronized|partial|readonly|inline|suspend)\s+)`
	return []*language{
		{
			name: "go", files: map[string]string{".go": "go"}, also: []string{"go.mod", "go.work", "go.sum"},
			servers: [][]string{{"gopls"}},
			environ: []string{"GOFLAGS=-mod=readonly", "GOPROXY=off", "GOTOOLCHAIN=local", "GOTELEMETRY=off", "GOSUMDB=off"},
			options: map[string]any{"diagnosticsDelay": "50ms"}, config: map[string]any{"gopls": map[string]any{"diagnosticsDelay": "50ms"}},
			defines: patterns(
				`^func\s+(?:\(\s*(?:\w+\s+)?\*?(?P<c>\w+)(?:\[[^\]]*\])?\s*\)\s*)?(?P<n>\w+)`,
				`^type\s+(?P<n>\w+)`, `^(?:var|const)\s+(?P<n>\w+)`, `^\t(?P<n>\w+)\s+(?:struct|interface)\s*\{`),
		},
		{
			name: "typescript", files: script, also: []string{"tsconfig.json", "jsconfig.json", "package.json"},
			servers:  [][]string{{"typescript-language-server", "--stdio"}},
			problems: []string{"syntacticDiagnosticsSync", "semanticDiagnosticsSync"},
			options: map[string]any{"disableAutomaticTypingAcquisition": true, "tsserver": map[string]any{"useSyntaxServer": "never"}, "preferences": map[string]any{
				"providePrefixAndSuffixTextForRename": true,
			}},
			defines: patterns(
				`^\s*(?:export\s+)?(?:default\s+)?(?:declare\s+)?(?:abstract\s+)?(?:async\s+)?(?:function\s*\*?|class|interface|enum|const enum|namespace|type)\s+(?P<n>[\w$]+)`,
				`^(?:export\s+)?(?:declare\s+)?(?:const|let|var)\s+(?P<n>[\w$]+)`,
				`^(?:module\.)?exports\.(?P<n>[\w$]+)\s*=`, `^(?P<c>[\w$]+)\.(?:prototype\.)?(?P<n>[\w$]+)\s*=\s*(?:async\s+)?function`,
				`^\s+(?:(?:public|private|protected|static|async|readonly|override|get|set|abstract)\s+)*\*?(?P<n>[\w$#]+)\s*(?:<[^>]*>)?\([^;]*\{\s*$`),
		},
		{
			name: "python", files: map[string]string{".py": "python", ".pyi": "python"},
			also: []string{"pyproject.toml", "pyrightconfig.json"}, indexes: true,
			servers: [][]string{{"pyright-langserver", "--stdio"}, {"basedpyright-langserver", "--stdio"}, {"pylsp"}},
			says:    map[string]string{"pyright-langserver": "source file", "basedpyright-langserver": "source file"},
			defines: patterns(`^\s*(?:async\s+)?(?:def|class)\s+(?P<n>\w+)`, `^(?P<n>[A-Za-z_]\w*)\s*(?::[^=]+)?=[^=]`),
		},
		{
			name: "c", files: map[string]string{
				".c": "c", ".h": "c", ".cc": "cpp", ".cpp": "cpp", ".cxx": "cpp", ".hpp": "cpp", ".hh": "cpp", ".m": "objective-c",
			},
			also: []string{"compile_commands.json", "compile_flags.txt"}, indexes: true, narrow: true,
			servers: [][]string{{"clangd", "--background-index", "--log=error", "--enable-config=false"}},
			defines: patterns(
				`^#\s*define\s+(?P<n>\w+)`, `^(?:typedef\s+)?(?:struct|union|enum|class|namespace)\s+(?P<n>\w+)\s*(?:[:{]|$)`,
				`^}\s*(?P<n>\w+)\s*;`, `^typedef\s.*\b(?P<n>\w+)\s*;`,
				`^[A-Za-z_][\w:<>,*&\s]*?[\s*&](?:(?P<c>\w+)::)?(?P<n>~?\w+)\s*\([^;]*$`,
				`^(?P<n>\w+)\s*\([^;]*$`),
		},
		{
			name: "rust", files: map[string]string{".rs": "rust"}, also: []string{"Cargo.toml"}, indexes: true,
			servers: [][]string{{"rust-analyzer"}}, environ: []string{"CARGO_NET_OFFLINE=true"},
			options: map[string]any{"checkOnSave": false, "cargo": map[string]any{"targetDir": "/tmp/target"}},
			defines: patterns(
				`^\s*(?:pub(?:\([^)]*\))?\s+)?(?:(?:async|const|unsafe|default|extern(?:\s+"[^"]*")?)\s+)*(?:fn|struct|enum|trait|type|mod|union|static|const|macro_rules!)\s+(?:mut\s+)?(?P<n>\w+)`,
				`^impl(?:<[^>]*>)?\s+(?:[\w:<>, &']+\s+for\s+)?(?P<n>\w+)`),
		},
		{
			name: "java", files: map[string]string{".java": "java"}, indexes: true, also: []string{"pom.xml", "build.gradle"},
			servers: [][]string{{"jdtls"}},
			defines: patterns(
				`^\s*`+modifiers+`*(?:class|interface|enum|record|@interface)\s+(?P<n>\w+)`,
				`^\s+`+modifiers+`*(?:<[^>]*>\s*)?[\w<>\[\],.?]+\s+(?P<n>\w+)\s*\([^;]*$`),
		},
		{
			name: "bash", files: map[string]string{".sh": "shellscript", ".bash": "shellscript"},
			servers: [][]string{{"bash-language-server", "start"}},
			defines: patterns(`^\s*(?:function\s+)?(?P<n>[\w:-]+)\s*\(\)`, `^\s*function\s+(?P<n>[\w:-]+)`, `^(?:readonly\s+|export\s+)?(?P<n>[A-Z_]\w*)=`),
		},
		{
			name: "other", files: map[string]string{
				".rb": "ruby", ".php": "php", ".cs": "csharp", ".kt": "kotlin", ".swift": "swift", ".scala": "scala", ".lua": "lua",
				".pl": "perl", ".ex": "elixir", ".exs": "elixir", ".zig": "zig",
			},
			defines: patterns(
				`^\s*`+modifiers+`*(?:class|interface|enum|record|struct|trait|module|namespace|object|protocol|extension|defmodule)\s+(?P<n>[\w.:]+)`,
				`^\s*(?:local\s+|pub\s+)?`+modifiers+`*(?:def|defp|function|func|fun|fn|sub)\s+(?:self\.)?(?P<n>[\w?!.:]+)`,
				`^\s+`+modifiers+`+[\w<>\[\],.?]+\s+(?P<n>\w+)\s*\([^;]*$`),
		},
	}
}

// withSettings returns the languages with the servers of the settings.
func withSettings(all []*language, s Settings) []*language {
	for name, set := range s.Servers {
		i := slices.IndexFunc(all, func(l *language) bool { return l.name == name })
		if i >= 0 {
			all[i].servers = [][]string{set.Command}
			continue
		}
		l := &language{name: name, files: make(map[string]string), servers: [][]string{set.Command}}
		for _, end := range set.Files {
			l.files["."+strings.TrimLeft(end, "*.")] = name
		}
		for _, known := range all { // it has patterns for some of them
			for end := range l.files {
				if _, ok := known.files[end]; ok {
					l.defines = known.defines
				}
			}
		}
		all = slices.Insert(all, 0, l)
	}
	return all
}

// of returns the language of a file, or nil.
func of(all []*language, name string) *language {
	end := strings.ToLower(path.Ext(name))
	for _, l := range all {
		if _, ok := l.files[end]; ok {
			return l
		}
	}
	return nil
}

// glob returns the pattern of the files that a server of the language hears about.
func (l *language) glob() string {
	var ends []string
	for end := range l.files {
		ends = append(ends, "*"+end)
	}
	slices.Sort(ends)
	return "**/{" + strings.Join(append(ends, l.also...), ",") + "}"
}

// sources returns the pattern of the files of the language.
func (l *language) sources() string {
	var ends []string
	for end := range l.files {
		ends = append(ends, strings.TrimPrefix(end, "."))
	}
	slices.Sort(ends)
	return "*.{" + strings.Join(ends, ",") + "}"
}
