package judge

import (
	"strings"

	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// Variables that make programs which are harmless otherwise run code. Nobody
// needs them in a command.
const hardNames = " BASH_ENV ENV SHELLOPTS BASHOPTS PROMPT_COMMAND PS4 GIT_EXTERNAL_DIFF GIT_SSH GIT_SSH_COMMAND GIT_PROXY_COMMAND GIT_EXEC_PATH" +
	" GIT_TEMPLATE_DIR GIT_ASKPASS SSH_ASKPASS PERL5OPT PERL5DB PERL5DBCMD PERL5LIB RUBYOPT RUBYLIB PYTHONSTARTUP PYTHONHOME PYTHONBREAKPOINT LESSOPEN LESSCLOSE" +
	" GCONV_PATH GLIBC_TUNABLES HGRCPATH DOTNET_STARTUP_HOOKS DOTNET_ADDITIONAL_DEPS CLOUDSDK_PYTHON OPENSSL_CONF OPENSSL_ENGINES PHPRC PHP_INI_SCAN_DIR" +
	" CORECLR_PROFILER_PATH LUA_PATH LUA_CPATH SUDO_EDITOR FCEDIT ZDOTDIR WGETRC CURL_HOME SSLKEYLOGFILE "

// Variables that decide what code runs. There are good reasons to set them in a
// command, and none to set them beside it.
const softNames = " NODE_OPTIONS NODE_PATH PYTHONPATH PYTHONUSERBASE CLASSPATH JAVA_TOOL_OPTIONS _JAVA_OPTIONS JDK_JAVA_OPTIONS MAVEN_OPTS SBT_OPTS GRADLE_OPTS ANT_OPTS" +
	" CC CXX CARGO_BUILD_RUSTC RUSTC RUSTC_WRAPPER RUSTUP_HOME RUSTUP_TOOLCHAIN CMAKE_C_COMPILER CMAKE_CXX_COMPILER MAKEFLAGS SHELL BROWSER CGO_CFLAGS CGO_LDFLAGS GOFLAGS" +
	" LIBRARY_PATH CPATH C_INCLUDE_PATH CPLUS_INCLUDE_PATH OBJC_INCLUDE_PATH VIRTUAL_ENV BUNDLE_GEMFILE GEM_HOME GEM_PATH GOENV GOPATH GIT_DIR GIT_WORK_TREE" +
	" HOME XDG_CONFIG_HOME XDG_DATA_HOME XDG_CONFIG_DIRS XDG_DATA_DIRS GRADLE_USER_HOME COMPOSER_HOME DENO_DIR HISTFILE AWS_CONFIG_FILE RIPGREP_CONFIG_PATH TAR_OPTIONS" +
	" BAT_PAGER DELTA_PAGER SYSTEMD_PAGER CARGO_HOME LD AR GOROOT LUA_INIT DOCKER_CONFIG KUBECONFIG OPENSSL_MODULES PSQLRC INPUTRC R_PROFILE R_PROFILE_USER R_ENVIRON" +
	" R_ENVIRON_USER JULIA_LOAD_PATH PYTHONINSPECT PYTHONWARNINGS GCC_EXEC_PREFIX COMPILER_PATH VIMINIT EXINIT MYVIMRC GVIMINIT EMACSLOADPATH LESSKEY LESSKEYIN LESS MANOPT" +
	" CVS_RSH RSYNC_RSH RSYNC_CONNECT_PROG SVN_SSH HG ANSIBLE_CONFIG MAKEFILES GNUMAKEFLAGS CMAKE_TOOLCHAIN_FILE PKG_CONFIG PERLLIB AWKPATH AWKLIBPATH TCLLIBPATH ERL_FLAGS" +
	" ERL_AFLAGS ERL_ZFLAGS ELIXIR_ERL_OPTIONS JAVA_HOME COR_PROFILER COR_PROFILER_PATH CORECLR_PROFILER LOCPATH TERMINFO CDPATH GLOBIGNORE PS0 FZF_DEFAULT_COMMAND "

// softPrefix reports whether a variable belongs to a family of these.
func softPrefix(name string) bool {
	for _, prefix := range []string{"RUSTC_", "CARGO_BUILD_", "GIT_TRACE", "LUA_INIT_", "CARGO_TARGET_"} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}

// Variables that send requests or packages elsewhere.
const wayNames = " HTTP_PROXY HTTPS_PROXY ALL_PROXY NO_PROXY NODE_TLS_REJECT_UNAUTHORIZED NODE_EXTRA_CA_CERTS SSL_CERT_FILE SSL_CERT_DIR REQUESTS_CA_BUNDLE CURL_CA_BUNDLE" +
	" DOCKER_HOST DOCKER_TLS_VERIFY DOCKER_CERT_PATH DOCKER_CONTEXT PIP_INDEX_URL PIP_PYPI_URL PIP_EXTRA_INDEX_URL PIP_CONFIG_FILE PIP_FIND_LINKS PIP_TRUSTED_HOST" +
	" UV_INDEX UV_INDEX_URL UV_EXTRA_INDEX_URL UV_DEFAULT_INDEX GOPROXY GONOSUMCHECK GONOSUMDB GONOPROXY GOPRIVATE BUN_CONFIG_REGISTRY YARN_RC_FILENAME" +
	" GIT_SSL_NO_VERIFY GIT_SSL_CAINFO GIT_SSL_CAPATH "

// Variables that name a program which others start.
const programNames = " PAGER MANPAGER GIT_PAGER EDITOR VISUAL GIT_EDITOR GIT_SEQUENCE_EDITOR "

// Variables that only say how to behave or to print. Of others nobody knows which
// programs take them for code, or for where code is.
const plainNames = " CI DEBUG VERBOSE QUIET LOG_LEVEL LOGLEVEL PORT HOST NODE_ENV RAILS_ENV RACK_ENV FLASK_ENV APP_ENV ENVIRONMENT TZ LANG LANGUAGE TERM COLORTERM" +
	" NO_COLOR FORCE_COLOR CLICOLOR CLICOLOR_FORCE COLUMNS LINES GOOS GOARCH GOAMD64 GOARM CGO_ENABLED GOMAXPROCS GOTRACEBACK GOGC GOMEMLIMIT GOEXPERIMENT" +
	" RUST_BACKTRACE RUST_LOG CARGO_TERM_COLOR CARGO_INCREMENTAL PYTHONUNBUFFERED PYTHONDONTWRITEBYTECODE PYTHONHASHSEED PYTHONIOENCODING PYTHONUTF8" +
	" DEBIAN_FRONTEND SOURCE_DATE_EPOCH GIT_TERMINAL_PROMPT GIT_PAGER_IN_USE GIT_OPTIONAL_LOCKS BLOCKSIZE POSIXLY_CORRECT IFS OPTIND REPLY RANDOM SECONDS "

// plain reports whether a variable is known to be harmless.
func plain(name string) bool { return among(plainNames, name) || strings.HasPrefix(name, "LC_") }

// unknown judges a variable that programs get and that nobody knows.
func (j *judge) unknown(name string) {
	if !j.req.Sealed {
		j.hit(askEnv, name)
		return
	}
	j.raise(tool.Writes, "sets "+name)
}

func among(list, name string) bool {
	return !strings.Contains(name, " ") && strings.Contains(list, " "+name+" ")
}

// hardName reports whether nobody needs to set the variable.
func hardName(name string) bool {
	if among(hardNames, name) {
		return true
	}
	for _, prefix := range []string{"LD_", "DYLD_", "BASH_FUNC_", "GIT_CONFIG"} {
		if strings.HasPrefix(name, prefix) && name != "LD_LIBRARY_PATH" {
			return true
		}
	}
	return false
}

// requestEnv judges a variable that comes beside the command.
func (j *judge) requestEnv(name string) {
	upper := strings.ToUpper(name)
	switch {
	case hardName(upper), upper == "PATH", upper == "IFS", upper == "LD_LIBRARY_PATH",
		among(softNames, upper), among(wayNames, upper), among(programNames, upper),
		strings.HasPrefix(upper, "NPM_CONFIG_"), strings.HasPrefix(upper, "CARGO_REGISTRIES_"), strings.HasPrefix(upper, "MCP_TOOLS_"),
		softPrefix(upper), name == "" || strings.ContainsAny(name, "=\x00"):
		j.hit(modelEV, name)
	case !plain(name):
		j.unknown(name)
	}
}

// environment judges a variable that the text sets. A text could start anything
// without it, so that only the worst are refused.
func (j *judge) environment(name, text string, exported bool) {
	switch {
	case hardName(name):
		if exported || name != "PS4" && name != "ENV" {
			j.hit(loader, name)
		}
	case name == "LD_LIBRARY_PATH" || name == "PATH":
		j.hit(askEnv, name)
	case strings.HasPrefix(name, "MCP_TOOLS_"):
		j.hit(ourselves, name)
	case !exported:
	case among(programNames, name):
		switch text {
		case "cat", "less", "more", "true", ":", "vi", "vim", "nano", "", "/bin/true", "/bin/cat", "less -R", "less -F":
		default:
			j.hit(askEnv, name)
		}
	case name == "NODE_OPTIONS":
		for word := range strings.FieldsSeq(text) {
			if !strings.HasPrefix(word, "--max") && word != "--enable-source-maps" && word != "--no-warnings" && word != "--experimental-vm-modules" {
				j.hit(askEnv, name)
				return
			}
		}
	case among(softNames, name), softPrefix(name):
		j.unknown(name)
	case among(wayNames, name), strings.HasPrefix(strings.ToUpper(name), "NPM_CONFIG_"), strings.HasPrefix(name, "CARGO_REGISTRIES_"):
		if !j.req.Sealed || j.req.Network {
			j.hit(askEnv, name)
		}
	}
}
