package judge

import (
	"strings"
	"sync"
)

// programs are all that are known, by name. Whoever judges nothing does not pay
// for them.
var programs = sync.OnceValue(table)

// devNames are tools of developers that run code of the workspace.
const devNames = `make gmake bmake ninja cmake ctest meson bazel bazelisk buck2 pants scons gradle gradlew mvn mvnw ant sbt lein tsc tsx ts-node eslint prettier jest vitest mocha ava
		playwright cypress webpack vite rollup esbuild swc babel next nuxt astro turbo nx lerna gulp grunt rspec rubocop rake rails pytest tox nox mypy ruff black isort flake8 pylint pyright
		bandit coverage pre-commit autopep8 yapf gcc g++ cc c++ clang clang++ ld ar as ranlib strip rustc rustfmt javac kotlinc scalac ghc ocamlc dune zig nim crystal dmd gdc
		golangci-lint staticcheck gopls goimports gofumpt gotestsum dlv air mockgen protoc buf-gen stylelint biome oxlint tslint standard jshint shellcheck shfmt hadolint yamllint
		markdownlint ansible-lint tflint actionlint clang-format clang-tidy cppcheck valgrind-info flow ng vue svelte-kit expo react-native ionic storybook remix parcel phpunit phpstan psalm
		pint php-cs-fixer bats busted luacheck stylua ktlint detekt swiftlint swiftformat xcodebuild sphinx-build mkdocs hugo jekyll pandoc doxygen typedoc latexmk pdflatex xelatex
		alembic django-admin flask uvicorn gunicorn celery uwsgi puma foreman overmind honcho http-server serve live-server nodemon ts-node-dev concurrently npm-run-all just task mage
		autoconf automake autoreconf configure bison flex yacc lex dot plantuml mmdc convert magick ffmpeg sox optipng svgo qemu-img patch ed ex`

// table puts the programs together: what is said in words in lists, and the
// rest one by one.
func table() map[string]program {
	all := make(map[string]program, 512)
	list := func(p program, names string) {
		for name := range strings.FieldsSeq(names) {
			all[name] = p
		}
	}
	list(harmless, `true false : pwd seq sleep nproc uname whoami id groups hostname uptime arch date cal tty locale tput clear reset expr factor yes logname
		basename dirname test [ [[ which type hash help let wait jobs bg fg disown times umask ulimit shift return exit break continue logout set_color pgrep pidof ps
		free vmstat iostat lscpu lsblk lsusb lspci lsmod df getconf getent ldconfig top htop history apropos whatis info sw_vers sysctl dmesg who w last users lsns
		nvidia-smi shopt getopts caller dirs suspend enable bind complete compopt mesg numfmt tsort`)
	list(quiet, `true false : test [ [[ exit return break continue shift sleep wait umask ulimit getopts`)
	list(reader, `ls dir vdir head tail wc cut paste join comm cmp diff diff3 sdiff fold fmt nl expand unexpand column stat file du md5sum sha1sum sha256sum sha512sum
		b2sum cksum sum shasum od hexdump strings readlink realpath tree ldd nm objdump readelf size otool egrep fgrep zgrep zcmp zdiff colordiff delta bat batcat exa eza lsd jless
		ccat look pr tac cloc tokei scc ag ack pt hexyl jsonlint xmllint csvlook csvcut csvstat mlr duf ncdu mdcat glow gron htmlq pup jc dasel lsof ss netstat iconv dos2unix-info
		findmnt bzcmp pdftotext-info identify exiftool-info ffprobe mediainfo sqlite3-info cscope ctags-info gofmt-info`)
	list(grep, "grep rg")
	list(dev, devNames)
	list(gofmt, "gofmt")
	all["find"], all["sed"], all["gsed"], all["tar"], all["bsdtar"], all["gtar"], all["rsync"] = find, sed, sed, tar, tar, tar, rsync
	all["fd"], all["fdfind"] = fd, fd
	list(awk, "awk gawk mawk nawk")
	list(git, "git")
	list(curl, "curl")
	list(wget, "wget wget2")
	list(netcat, "nc ncat netcat socat")
	list(ssh, "ssh mosh autossh sshpass")
	list(scp, "scp sftp ftp lftp tftp")
	list(openssl, "openssl")
	list(docker, "docker podman nerdctl docker-compose podman-compose")
	list(kubectl, "kubectl oc k3s")
	list(goTool, "go")
	for name, t := range subcommandTables {
		all[name] = t.call
	}
	addText(all, list)
	addFiles(all, list)
	addWrappers(all, list)
	addShells(all, list)
	addRules(list)
	return all
}

func addText(all map[string]program, list func(program, string)) {
	all["echo"], all["printf"], all["cat"] = echo, printf, cat
	list(filter(base64Text, decodesFlag), "base64 gbase64 base64url")
	list(filter(base32Text, decodesFlag), "base32")
	list(filter(hexText, decodesFlag), "xxd")
	list(filter(reversed, always), "rev")
	list(filter(translated, func([]arg) bool { return false }), "tr")
	list(decoder(always), "gunzip zcat bunzip2 bzcat unxz xzcat unlzma lzcat unzstd zstdcat uudecode uncompress basenc")
	list(decoder(func(a []arg) bool {
		return hasLetter(a, "d") || hasFlag(a, "--decompress", "--uncompress", "--decrypt")
	}), "gzip bzip2 xz lzma zstd lz4 brotli pigz gpg gpg2 age")
	list(sorted, "sort gsort")
	list(uniq, "uniq")
	list(readsOrRuns(" -i --inplace --in-place "), "jq yq jaq gojq")
	list(pager, "less more most man info")
	list(readVars, "read mapfile readarray")
	list(changeDir, "cd pushd chdir")
	list(popDir, "popd")
	all["unset"] = unset
	all["set"], all["printenv"], all["compgen"] = setBuiltin, printenv, compgen
	all["alias"], all["unalias"], all["trap"] = aliasBuiltin, quiet, trap
	list(declared, "export declare typeset readonly local")
}

func addFiles(all map[string]program, list func(program, string)) {
	list(remove, "rm grm unlink shred srm wipe rmdir trash trash-put rimraf del-cli")
	list(move, "mv gmv rename")
	list(copyTo, "cp gcp install")
	all["ln"] = link
	list(change, "chmod chown chgrp")
	list(writesOperands(false, options{short: "acfhmd:r:t:", long: "no-create date= reference= time= no-dereference"}), "touch")
	list(writesOperands(false, options{short: "pvm:Z", long: "parents verbose mode= context?"}), "mkdir")
	list(writesOperands(false, options{short: "m:Z", long: "mode= context?"}), "mkfifo")
	list(writesOperands(false, options{short: "aip", long: "append ignore-interrupts output-error?"}), "tee sponge")
	list(writesOperands(true, options{short: "cos:r:", long: "no-create io-blocks size= reference="}), "truncate")
	list(writesOperands(false, options{short: "dnxzl:o:p:vc:i", long: "length= offset= keep-size dig-holes zero-range posix verbose"}), "fallocate")
	all["mktemp"], all["dd"] = makeTemp, dd
	list(packer, "zip unzip 7z 7za unrar cpio split csplit dos2unix unix2dos ctags etags")
}

func addWrappers(all map[string]program, list func(program, string)) {
	all["env"], all["command"], all["builtin"], all["exec"], all["nice"] = environmentOf, commandBuiltin, wrap(options{}, 0), execBuiltin, niced
	list(wrap(options{}, 0), "nohup eatmydata dbus-run-session fakeroot rlwrap catchsegv winpty arch noglob nocorrect")
	all["ionice"] = wrap(options{short: "c:n:tp:P:u:", long: "class= classdata= ignore"}, 0)
	all["chrt"] = wrap(options{short: "abdfiormRT:P:D:v", long: "all-tasks batch deadline fifo idle other rr reset-on-fork verbose"}, 1)
	all["taskset"] = wrap(options{short: "ac", long: "all-tasks cpu-list"}, 1)
	all["stdbuf"] = wrap(options{short: "i:o:e:", long: "input= output= error="}, 0)
	all["setsid"] = wrap(options{short: "cfw", long: "ctty fork wait"}, 0)
	all["time"] = wrap(options{short: "apvqf:o:", long: "append portability verbose quiet format= output="}, 0)
	list(wrap(options{short: "fpvk:s:", long: "foreground preserve-status verbose kill-after= signal="}, 1), "timeout gtimeout")
	all["numactl"] = wrap(options{short: "i:N:m:C:l", long: "interleave= cpunodebind= membind= physcpubind= localalloc"}, 0)
	list(wrap(options{short: "fcqFyxvTtriCe:o:p:s:P:a:S:E:u:b:", long: "follow-forks"}, 0), "strace ltrace")
	all["valgrind"] = wrap(options{long: "leak-check= tool= track-origins= error-exitcode= show-leak-kinds= suppressions="}, 0)
	all["xvfb-run"] = wrap(options{short: "ae:s:n:", long: "auto-servernum server-args= error-file="}, 0)
	all["caffeinate"] = wrap(options{short: "dimsut:w:"}, 0)
	all["flock"], all["script"], all["xargs"], all["gxargs"], all["parallel"] = flock, script, xargs, xargs, parallel
	all["watch"] = textOrWords(options{short: "bcdegtpwn:qx", long: "interval= differences? no-title beep errexit chgexit color precise exec"}, 0)
	all["hyperfine"] = textOrWords(options{short: "w:r:m:M:p:c:iNS:", long: "warmup= runs= min-runs= max-runs= prepare= cleanup= ignore-failure export-json= export-markdown= show-output"}, 0)
	list(asOther(options{short: "bEHiknPSsAu:g:h:p:C:T:U:r:t:", long: "preserve-env? non-interactive user= group= login shell stdin background host= set-home chdir="}, 0), "sudo doas pkexec runuser gosu su-exec setpriv")
	all["su"] = su
	list(moreRights(options{long: "userspec= groups= skip-chdir"}, 1), "chroot")
	list(moreRights(options{short: "imnpuUCTfrcw:R:S:G:", long: "mount uts ipc net pid user cgroup time fork map-root-user map-current-user mount-proc? kill-child? root= wd= setuid= setgid= propagation= map-user= map-group= map-auto keep-caps"}, 0), "unshare")
	list(moreRights(options{short: "aCimnpuUTFt:S:G:r:w:", long: "all target= mount? uts? ipc? net? pid? user? cgroup? time? root? wd? no-fork setuid= setgid= preserve-credentials"}, 0), "nsenter systemd-run machinectl capsh bwrap firejail")
	list(applets, "busybox toybox")
	list(remoteRunner("exec x"), "npx pnpx bunx uvx pipx yarn-dlx")
	for name, operands := range map[string]int{"poetry": 0, "pipenv": 0, "uv": 0, "bundle": 0, "pdm": 0, "rye": 0, "hatch": 0, "conda": 0, "dotenv": 0, "direnv": 1, "mise": 0, "asdf": 0, "npm": 0, "pnpm": 0, "yarn": 0} {
		word := "run"
		if name == "bundle" || name == "direnv" || name == "mise" || name == "asdf" || name == "npm" || name == "pnpm" || name == "yarn" {
			word = "exec"
		}
		other := all[name]
		if other == nil {
			other = unknownProgram
		}
		switch name {
		case "npm", "pnpm", "yarn":
			all[name] = packageRunner(other)
		default:
			all[name] = behindSubcommand(word, operands, other)
		}
	}
	list(terminalUser, "tmux screen expect unbuffer dtach abduco")
}

func addShells(all map[string]program, list func(program, string)) {
	list(shell, "sh bash dash zsh ksh ash mksh rbash fish yash pdksh hush")
	all["eval"], all["."], all["source"] = eval, sourced, sourced
	list(interpreter{language: "python", inline: "c", values: "WXQ", harmless: "BdEhiIOPqsSuvxb23", plain: " ", module: true}.call, "python python2 python3 pypy pypy3 ipython")
	list(interpreter{language: "node", inline: "epr", harmless: "ci", long: " --eval --print --require --import --loader --experimental-loader -pe ", plain: " --test --watch --check --inspect --inspect-brk --no-warnings --enable-source-maps --experimental-strip-types --experimental-vm-modules --trace-warnings --expose-gc --test-reporter --max-old-space-size --env-file --trace-deprecation --experimental-modules --experimental-test-coverage "}.call, "node nodejs")
	list(interpreter{language: "perl", inline: "eEMmx", values: "IC", harmless: "acflnpsStTuUwWXv0i"}.call, "perl")
	list(interpreter{language: "ruby", inline: "er", values: "ICEK", harmless: "acdlnpsSwWvyi0"}.call, "ruby jruby irb")
	list(interpreter{language: "php", inline: "rRBE", values: "dctzFS", harmless: "anqsvwmi", plain: " --ini --info "}.call, "php")
	list(interpreter{language: "lua", inline: "el", harmless: "ivEW"}.call, "lua luajit texlua")
	list(interpreter{language: "R", inline: "e", harmless: "q", long: " --eval ", plain: " --vanilla --slave --no-save --quiet "}.call, "R Rscript julia elixir iex groovy scala kotlin clojure clj erl escript racket guile sbcl scheme swipl tclsh wish janet jshell csi ocaml runghc ghci octave gnuplot bc dc m4 jsc qjs osascript java")
	list(interpreter{language: "PowerShell"}.power, "pwsh powershell")
	list(windowsShell, "cmd")
	list(interactive, "vim vi nvim view emacs nano pico gdb lldb sqlite3 psql mysql mysqldump mongo mongosh redis-cli mysqladmin pg_dump")
}

func addRules(list func(program, string)) {
	list(ruled(makeFS), "mkfs mkfs.ext4 mkfs.ext3 mkfs.ext2 mkfs.xfs mkfs.btrfs mkfs.vfat mkfs.ntfs mke2fs mkswap fdisk sfdisk cfdisk gdisk sgdisk parted wipefs diskpart blkdiscard hdparm diskutil cryptsetup lvremove vgremove pvremove zpool swapoff format")
	list(ruled(powerOff), "shutdown reboot poweroff halt telinit init")
	list(ruled(rights), "mount umount setcap getcap insmod rmmod modprobe visudo useradd userdel usermod groupadd passwd chpasswd adduser deluser pivot_root losetup setenforce iptables ip6tables nft ufw firewall-cmd kexec chsh chfn vipw sudoedit newgrp sg keyctl bpftool")
	list(ruled(mining), "xmrig cpuminer minerd cgminer bfgminer ethminer nbminer t-rex phoenixminer lolminer gminer claymore teamredminer")
	list(ruled(scanner), "nmap masscan zmap rustscan zgrab nikto sqlmap hydra medusa arp-scan netdiscover tcpdump tshark ettercap bettercap")
	list(ruled(tunnel), "chisel frp frpc frps ngrok cloudflared bore localtunnel lt pagekite serveo inlets")
	list(ruled(lookup), "nslookup dig host drill whois resolvectl")
	list(ruled(rawSocket), "telnet rlogin rsh")
	list(ruled(install), "snap flatpak yum pacman zypper emerge dpkg rpm port easy_install nix-env opkg")
	list(ruled(remote), "aws gcloud az doctl heroku vercel netlify flyctl fly wrangler firebase ansible ansible-playbook pulumi ping traceroute mtr tracepath")
	list(ruled(ourselves), "mcp-tools")
	list(crontab, "crontab at batch anacron")
	list(killer, "kill pkill killall killall5 skill xkill fuser")
}
