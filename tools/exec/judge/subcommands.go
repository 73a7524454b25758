package judge

import (
	"strings"

	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// subcommands says what a program does by its first words. A name of two words
// is written with a slash and goes before the first word alone. What is not
// listed runs code.
type subcommands struct {
	values   string // options before the subcommand that take a value
	plain    string // options before it that do no harm
	reads    string
	writes   string
	code     string // runs code of the workspace, which walls hold
	destroys string
	installs string
	remote   string // works on or with other machines
	runs     string // always asked about, even when a shorter name is listed
	bare     tool.Risk
}

func (t subcommands) call(j *judge, s *scope, c call) stream {
	args, ok := t.words(j, c)
	if !ok {
		return stream{}
	}
	if len(args) == 0 {
		t.without(j, c)
		return stream{}
	}
	sub := args[0]
	if !sub.static() || sub.glob {
		j.opaque(c.name() + " " + sub.shown())
		return stream{}
	}
	name := sub.text
	if hasFlag(args[1:], "--help") && !among(t.code, name) && !strings.Contains(name, "run") {
		return stream{}
	}
	if _, more := flags(args[1:]); len(more) > 0 && t.lists(name+"/"+more[0].text) {
		name += "/" + more[0].text
	}
	t.apply(j, c, name)
	return stream{}
}

// words are what follows the options before the subcommand.
func (t subcommands) words(j *judge, c call) ([]arg, bool) {
	args := c.rest()
	for len(args) > 0 {
		a := args[0]
		name, _, given := strings.Cut(a.text, "=")
		switch {
		case !strings.HasPrefix(a.text, "-") && !strings.HasPrefix(a.text, "+"):
			return args, true
		case a.is("--version") || a.is("--help") || a.is("-h") || a.is("-V") || a.is("-v") && len(args) == 1:
			return nil, false
		case among(t.values, name):
			if !given {
				args = args[1:]
			}
		case among(t.plain, name) || given && among(t.plain, name):
		default:
			j.opaque("option " + a.shown() + " of " + c.name())
			return nil, false
		}
		args = args[min(1, len(args)):]
	}
	return nil, true
}

func (t subcommands) without(j *judge, c call) {
	switch t.bare {
	case 0, tool.Reads:
	case tool.Writes:
		j.develops("runs " + c.name())
	default:
		j.raise(t.bare, "runs "+c.name())
	}
}

func (t subcommands) lists(name string) bool {
	for _, list := range []string{t.reads, t.writes, t.code, t.destroys, t.installs, t.remote, t.runs} {
		if among(list, name) {
			return true
		}
	}
	return false
}

func (t subcommands) apply(j *judge, c call, name string) {
	what := c.name() + " " + strings.ReplaceAll(name, "/", " ")
	switch {
	case among(t.reads, name):
	case among(t.writes, name):
		j.raise(tool.Writes, what)
	case among(t.code, name):
		j.develops("runs code: " + what)
	case among(t.destroys, name):
		j.raise(tool.Destroys, what+" cannot be taken back")
	case among(t.installs, name):
		j.always = false
		j.hit(install, what)
	case among(t.remote, name):
		j.reaches(what + " works with other machines")
	default:
		j.raise(tool.Runs, "runs "+what)
	}
}

// reaches notes that others are reached, where that can be.
func (j *judge) reaches(what string) {
	if j.req.Sealed && !j.req.Network {
		j.raise(tool.Writes, what)
		return
	}
	j.raise(tool.Runs, what)
}

// The programs with subcommands that nothing else needs to be known of.
var subcommandTables = map[string]subcommands{
	"cargo":      {values: " --config -C -Z --color --manifest-path ", plain: " -q --quiet -v --verbose --locked --offline --frozen +stable +nightly +beta ", reads: " tree metadata locate-project pkgid search version read-manifest verify-project ", writes: " fmt new init add remove update generate-lockfile fetch vendor ", code: " build b check c test t bench run r clippy doc d fix rustc rustdoc nextest miri expand llvm-cov audit deny ", destroys: " clean ", installs: " install uninstall ", remote: " publish yank login owner "},
	"rustup":     {reads: " show which doc check toolchain/list target/list component/list ", installs: " update install toolchain target component self default "},
	"npm":        {values: " --prefix -C --workspace -w ", plain: " --silent -s --workspaces -ws --no-audit --no-fund --if-present ", reads: " ls list ll la view v info show outdated audit why explain help root prefix bin config/get config/list docs fund search query doctor version pkg/get ", writes: " init pkg pack dedupe prune cache/verify shrinkwrap ", code: " test t tst run run-script rum start stop restart build ", installs: " install i in add ci clean-install install-ci-test it cit update up upgrade uninstall un remove rm r rebuild link ln install-test audit/fix ", remote: " publish unpublish login logout adduser whoami token access owner deprecate dist-tag ping ", runs: " exec x create config/set cache "},
	"pnpm":       {values: " --filter -F -C --dir ", plain: " -r --recursive -w -s --silent --workspace-root ", reads: " ls list ll outdated why audit root bin licenses config/get store/path ", writes: " init pack dedupe prune ", code: " test t run start build lint dev ", installs: " install i add update up remove rm uninstall un link rebuild fetch import ", remote: " publish login "},
	"yarn":       {values: " --cwd ", plain: " -s --silent ", reads: " list info outdated audit why versions licenses ", writes: " init pack dedupe ", code: " test run start build lint dev workspace workspaces format typecheck ", installs: " install add remove upgrade up global link unlink ", remote: " publish login npm ", runs: " dlx create exec node "},
	"bun":        {plain: " --silent --hot --watch ", reads: " pm ", code: " test run build dev start lint ", installs: " install i add remove rm update upgrade link ", writes: " init "},
	"deno":       {reads: " info doc ", writes: " fmt init ", code: " lint check test bench compile task ", installs: " install add remove cache "},
	"pip":        {values: " --python --proxy --cache-dir ", plain: " -q --quiet -v --disable-pip-version-check --no-color ", reads: " list freeze show check inspect help index debug config/list cache/dir ", installs: " install uninstall wheel download ", destroys: " cache "},
	"uv":         {values: " --project --directory --python -p ", plain: " -q --quiet --offline --no-cache ", reads: " tree version pip/list pip/show pip/freeze pip/tree pip/check python/list python/find tool/list export ", writes: " init lock venv pip/compile cache/prune ", code: " build format ", installs: " add remove sync pip/install pip/uninstall pip/sync python/install tool/install self "},
	"poetry":     {values: " -C --directory ", plain: " -q --quiet -n --no-interaction ", reads: " show check version env/info env/list about search ", writes: " init new lock export ", code: " build ", installs: " install add remove update self ", remote: " publish "},
	"pipenv":     {reads: " graph check requirements ", writes: " lock ", installs: " install uninstall sync update "},
	"conda":      {reads: " list info search env/list config/--show ", installs: " install create update remove env "},
	"gem":        {reads: " list search info which environment contents outdated help ", writes: " build ", installs: " install uninstall update ", remote: " push yank "},
	"bundle":     {plain: " --quiet ", reads: " list show outdated check info platform ", writes: " init lock ", installs: " install update add remove "},
	"composer":   {values: " -d --working-dir ", plain: " -n -q --no-interaction --quiet ", reads: " show validate outdated why depends licenses diagnose status about ", writes: " init dump-autoload dumpautoload ", code: " test run run-script check lint ", installs: " install require update remove create-project global "},
	"apt":        {plain: " -q -y -qq ", reads: " list search show policy depends rdepends madison ", installs: " install remove purge autoremove update upgrade full-upgrade dist-upgrade build-dep reinstall edit-sources "},
	"apt-get":    {plain: " -q -y -qq -s ", reads: " check indextargets ", installs: " install remove purge autoremove update upgrade dist-upgrade build-dep source download clean autoclean "},
	"apt-cache":  {reads: " search show policy depends rdepends madison showpkg pkgnames stats "},
	"apk":        {plain: " -q -U --no-cache ", reads: " list info search policy version stats ", installs: " add del update upgrade fix "},
	"dnf":        {plain: " -y -q ", reads: " list info search repolist provides repoquery check-update history ", installs: " install remove update upgrade reinstall autoremove group downgrade makecache "},
	"brew":       {reads: " list ls info search outdated deps leaves config doctor uses desc home --prefix ", installs: " install uninstall upgrade update reinstall tap untap link unlink cleanup bundle services "},
	"helm":       {values: " -n --namespace --kube-context ", reads: " list ls get status history show search version env template lint dependency/list repo/list diff ", writes: " create package ", remote: " install upgrade rollback repo pull push dependency registry test ", runs: " uninstall delete plugin "},
	"terraform":  {values: "", plain: " -chdir ", reads: " version show output providers graph state/list state/show workspace/list workspace/show validate ", writes: " fmt ", code: " init get ", remote: " plan refresh "},
	"systemctl":  {plain: " --user --no-pager -l --full ", reads: " status list-units list-unit-files is-active is-enabled is-failed show cat list-timers list-sockets list-dependencies get-default "},
	"gh":         {values: " -R --repo ", reads: "", remote: " pr/list pr/view pr/diff pr/checks pr/status issue/list issue/view issue/status repo/view repo/list run/list run/view run/watch release/list release/view workflow/list workflow/view search label/list gist/list gist/view auth/status status browse ", runs: " api alias extension auth secret pr issue repo run release workflow "},
	"dotnet":     {plain: " --info --list-sdks --list-runtimes ", reads: " list ", writes: " new sln format ", code: " build test run clean publish pack msbuild watch ", installs: " add remove restore tool workload nuget "},
	"flutter":    {reads: " doctor devices ", writes: " create format ", code: " test build run analyze ", installs: " pub upgrade "},
	"dart":       {reads: " info ", writes: " format create ", code: " test run analyze compile fix ", installs: " pub "},
	"swift":      {code: " build test run ", writes: " package "},
	"mix":        {reads: " help ", writes: " new format ", code: " test compile run phx.server credo dialyzer ", installs: " deps.get local.hex archive.install deps.update ", bare: tool.Writes},
	"stack":      {reads: " path ls ", code: " build test bench run exec ghci ", writes: " new init ", destroys: " clean purge ", installs: " install setup update "},
	"cabal":      {reads: " list info ", code: " build test bench run repl v2-build ", writes: " init freeze ", installs: " install update "},
	"buf":        {reads: " lint breaking ls-files ", writes: " format mod init ", code: " build generate "},
	"hg":         {reads: " status log diff annotate branch branches heads tags id summary files cat ", writes: " add commit update branch bookmark init rename copy forget ", destroys: " revert purge strip rollback ", remote: " pull push clone incoming outgoing "},
	"svn":        {reads: " status info log diff list blame cat ", writes: " add copy mkdir move ", destroys: " revert cleanup delete ", remote: " checkout co update up commit ci "},
	"nvm":        {reads: " ls list current which version ", writes: " use ", installs: " install uninstall alias "},
	"pyenv":      {reads: " versions version which root ", writes: " local ", installs: " install uninstall global "},
	"asdf":       {reads: " list current which where ", writes: " local ", installs: " install plugin uninstall "},
	"ip":         {plain: " -br -4 -6 -c -s -o -j -d ", reads: " a addr address l link r route n neigh rule ", runs: " addr/add addr/del link/set route/add route/del netns "},
	"journalctl": {plain: " -u -n -f -b -xe --no-pager --since --until -k ", values: " -u -n --since --until ", bare: tool.Reads},
}
