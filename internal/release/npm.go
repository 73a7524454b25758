package main

// An npmPackage has the program for a platform.
type npmPackage struct{ Name, OS, CPU, Program string }

func npmOf(p program) npmPackage {
	system, cpu := p.os, p.arch
	if system == "windows" {
		system = "win32"
	}
	if cpu == "amd64" {
		cpu = "x64"
	}
	return npmPackage{"@mcp-tools/cli-" + system + "-" + cpu, system, cpu, p.file()}
}

// npm writes packages for npm as npm pack does: one that people install, whose script starts the
// program, and one with the program for each platform. npm installs the one that fits, as an
// optional dependency of the first.
func (r *release) npm() error {
	var all []npmPackage
	for _, p := range r.programs {
		own := npmOf(p)
		all = append(all, own)
		about, err := r.fill("npm/platform.json", map[string]any{"Package": own})
		if err != nil {
			return err
		}
		err = r.npmPack(r.name(p, "_npm.tgz"), []entry{{name: "package.json", data: about}, {name: p.file(), path: p.path}})
		if err != nil {
			return err
		}
	}
	var files []entry
	for _, name := range []string{"package.json", "README.md"} {
		data, err := r.fill("npm/"+name, map[string]any{"Packages": all})
		if err != nil {
			return err
		}
		files = append(files, entry{name: name, data: data})
	}
	script, err := packed("npm/mcp-tools.js")
	if err != nil {
		return err
	}
	return r.npmPack("mcp-tools_"+r.version+"_npm.tgz", append(files, entry{name: "mcp-tools.js", data: script, mode: 0o755}))
}

func (r *release) npmPack(file string, all []entry) error {
	for _, e := range r.docs {
		if e.name == "LICENSE" {
			all = append(all, e)
		}
	}
	return writeTarGz(r.path(file), r.date, within("package/", all))
}
