package ignore

import (
	"maps"
	"slices"
	"strings"
)

// TypeGlobs returns the globs of a file type, for names at any depth.
func TypeGlobs(name string) ([]string, bool) {
	name = strings.ToLower(name)
	if usual, ok := typeAliases[name]; ok {
		name = usual
	}
	globs, ok := fileTypes[name]
	return strings.Fields(globs), ok
}

// TypeNames returns the sorted names of all file types, without aliases.
func TypeNames() []string { return slices.Sorted(maps.Keys(fileTypes)) }

func compileTypes(globs []string) (*Glob, error) {
	slices.Sort(globs)
	globs = slices.Compact(globs)
	g := &Glob{list: &List{}}
	for _, glob := range globs {
		rules, err := globRules(glob, false)
		if err != nil {
			return nil, err
		}
		for _, r := range rules {
			g.list.add(r)
		}
		g.rules = append(g.rules, rules...)
	}
	g.list.finish()
	return g, nil
}

// fileTypes maps each file type to its globs.
var fileTypes = map[string]string{
	"asm":        "*.asm *.s *.S",
	"awk":        "*.awk",
	"bazel":      "*.bazel *.bzl BUILD WORKSPACE MODULE.bazel",
	"c":          "*.c *.h",
	"clojure":    "*.clj *.cljc *.cljs *.cljx *.edn",
	"cmake":      "*.cmake CMakeLists.txt",
	"config":     "*.cfg *.conf *.config *.ini",
	"cpp":        "*.cc *.cpp *.cxx *.c++ *.C *.h *.hh *.hpp *.hxx *.h++ *.inl",
	"crystal":    "*.cr Projectfile shard.yml",
	"csharp":     "*.cs *.csx",
	"csproj":     "*.csproj *.fsproj *.vbproj",
	"css":        "*.css *.scss",
	"csv":        "*.csv *.tsv",
	"cuda":       "*.cu *.cuh",
	"cython":     "*.pyx *.pxi *.pxd",
	"d":          "*.d",
	"dart":       "*.dart",
	"diff":       "*.diff *.patch",
	"docker":     "Dockerfile* *.dockerfile Containerfile* compose.y*ml docker-compose*.y*ml .dockerignore",
	"elisp":      "*.el",
	"elixir":     "*.ex *.exs *.eex *.heex *.leex",
	"elm":        "*.elm",
	"erlang":     "*.erl *.hrl",
	"fish":       "*.fish",
	"fortran":    "*.f *.f77 *.f90 *.f95 *.f03 *.for *.F *.F90",
	"fsharp":     "*.fs *.fsi *.fsx",
	"gdscript":   "*.gd",
	"git":        ".gitignore .gitattributes .gitmodules .gitconfig",
	"glsl":       "*.glsl *.vert *.frag *.geom *.comp *.tesc *.tese",
	"go":         "*.go",
	"gomod":      "go.mod go.sum go.work go.work.sum",
	"gradle":     "*.gradle *.gradle.kts gradle.properties",
	"graphql":    "*.graphql *.graphqls *.gql",
	"groovy":     "*.groovy *.gradle Jenkinsfile",
	"haskell":    "*.hs *.lhs *.cabal",
	"hcl":        "*.hcl *.tf *.tfvars",
	"html":       "*.html *.htm *.xhtml",
	"java":       "*.java *.jsp *.properties",
	"js":         "*.js *.jsx *.mjs *.cjs *.vue",
	"json":       "*.json *.jsonc *.json5 *.jsonl composer.lock",
	"jsonnet":    "*.jsonnet *.libsonnet",
	"jupyter":    "*.ipynb",
	"julia":      "*.jl",
	"kotlin":     "*.kt *.kts",
	"less":       "*.less",
	"license":    "LICENSE* LICENCE* COPYING* NOTICE* UNLICENSE*",
	"lisp":       "*.lisp *.lsp *.cl *.el",
	"lock":       "*.lock package-lock.json pnpm-lock.yaml go.sum npm-shrinkwrap.json",
	"log":        "*.log",
	"lua":        "*.lua",
	"make":       "Makefile makefile GNUmakefile mkfile Makefile.* makefile.* *.mk *.mak",
	"man":        "*.[1-9] *.[1-9]?",
	"markdown":   "*.md *.markdown *.mdown *.mkd *.mdx",
	"meson":      "meson.build meson_options.txt meson.options",
	"nim":        "*.nim *.nims *.nimble",
	"nix":        "*.nix",
	"objc":       "*.m *.h",
	"objcpp":     "*.mm *.h",
	"ocaml":      "*.ml *.mli *.mll *.mly",
	"org":        "*.org *.org_archive",
	"pascal":     "*.pas *.dpr *.lpr *.pp *.inc",
	"perl":       "*.pl *.pm *.t *.pod *.PL",
	"php":        "*.php *.php3 *.php4 *.php5 *.phtml",
	"powershell": "*.ps1 *.psm1 *.psd1",
	"protobuf":   "*.proto",
	"puppet":     "*.pp *.epp",
	"py":         "*.py *.pyi *.pyw",
	"qml":        "*.qml",
	"r":          "*.r *.R *.Rmd *.Rnw",
	"readme":     "README* *README",
	"rst":        "*.rst",
	"ruby":       "*.rb *.gemspec *.rbw *.rake Gemfile Rakefile config.ru .irbrc",
	"rust":       "*.rs",
	"sass":       "*.sass *.scss",
	"scala":      "*.scala *.sbt *.sc",
	"scheme":     "*.scm *.ss *.sld",
	"sh":         "*.sh *.bash *.zsh *.ksh *.csh *.dash .bashrc .bash_profile .profile .zshrc .zprofile .zshenv",
	"solidity":   "*.sol",
	"sql":        "*.sql *.psql",
	"svelte":     "*.svelte",
	"svg":        "*.svg",
	"swift":      "*.swift",
	"tcl":        "*.tcl",
	"terraform":  "*.tf *.tf.json *.tfvars *.tfvars.json *.terraformrc terraform.rc",
	"tex":        "*.tex *.ltx *.cls *.sty *.bib *.dtx *.ins",
	"text":       "*.txt *.text",
	"thrift":     "*.thrift",
	"toml":       "*.toml Cargo.lock",
	"ts":         "*.ts *.tsx *.mts *.cts",
	"vb":         "*.vb",
	"verilog":    "*.v *.vh *.sv *.svh",
	"vhdl":       "*.vhd *.vhdl",
	"vim":        "*.vim .vimrc vimrc .gvimrc",
	"vue":        "*.vue",
	"wgsl":       "*.wgsl",
	"xml":        "*.xml *.xsd *.xsl *.xslt *.dtd *.rng *.sch *.xjb",
	"yaml":       "*.yaml *.yml",
	"zig":        "*.zig",
	"zsh":        "*.zsh .zshrc .zshenv .zprofile .zlogin .zlogout",
}

// typeAliases maps other names of file types.
var typeAliases = map[string]string{
	"bash": "sh", "c#": "csharp", "c++": "cpp", "cc": "cpp", "cs": "csharp", "dockerfile": "docker", "golang": "go",
	"gql": "graphql", "hpp": "cpp", "htm": "html", "javascript": "js", "jsx": "js", "kt": "kotlin", "makefile": "make",
	"md": "markdown", "mjs": "js", "proto": "protobuf", "ps": "powershell", "ps1": "powershell", "python": "py",
	"rb": "ruby", "rs": "rust", "shell": "sh", "tf": "terraform", "tsx": "ts", "txt": "text",
	"typescript": "ts", "yml": "yaml",
}
