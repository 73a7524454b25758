package scrub

import (
	"strings"
	"testing"
)

// TestHarmlessTextStays has everyday text that was masked once. An agent cannot use an id that it reads as
// ta[REDACTED].
func TestHarmlessTextStays(t *testing.T) {
	hex64 := strings.Repeat("0f1e2d3c4b5a6978", 4)
	digest := "Ab3" + "dEf6hIj9lMn2pQr5tUv8xYz1Bc4eFg7iJk0mNoPqRs"
	var s Scrubber
	for _, line := range []string{
		// sk- within a word
		"task-" + "a1b2c3d4e5f6a7b8c9d0", "GET /v1/tasks/task-01HZX3K9" + "QWERTYUIOPAS4D5F6G", "virtio-disk-1234567890" + "abcdef1234",
		"job-task-4f3c2b1a" + "0d9e8f7a6b5c", "risk-assessmentFrameworkDocument", ".task-listItemContainerWrapper",
		"--mask-compositeOperationSource", "bug_task-transitionToAssignee", "<div class=\"sk-foldingCubeContainerWrapper\">",
		"task_live_" + "a1b2c3d4e5f6g7h8",
		// identified by in prose
		"the header identified by `name` is set", `identified by "email"`, "a user identified by 'username' or by an id",
		// types
		"struct LowerGuardPass : PassInfoMixin<LowerGuardPass> {", "class ForwardPass: RenderPassBase {", "interface UserToken: SomeOtherToken {",
		// image digests
		"uses: docker://org/image:v1@sha256:" + hex64, "docker-image://moby/buildkit:v0.12@sha256:" + hex64,
		// assignments of identifiers
		"this.scopeAuthKey = scopeAuthKey", "mngr->getKey = xmlSecKeysMngrGetKey;", "{hexKey: hexPKCS8TestECKey}", `private_key: "_RSAPrivateKey"`,
		"f(user=user, password=dbUserPassword)",
		// translations
		`"password": "Passwort"`, `"password": "Wachtwoord"`, "password: Kennwort", "password_confirmation: Wiederholung", `"password": "Contraseña"`,
		// digests in base64
		"version.py,sha256=qaN-fw_" + digest[:36] + ",123", "sha512-x-sk-" + digest + "AbC9==",
		// constants
		"_DESCRIPTOR_KEY = 'DESCRIPTOR'", `SIGNATURE_PLAINTEXT = "PLAINTEXT"`, `UNRESERVED_PAT = r"ABCDEFGHIJKLMNOPQRSTUVWXYZ"`,
		"PRIVATE_NETWORK=10.0.0.0/8",
		// keys that are not secret
		"cache key: " + hex64, "Cache restored from key: linux-go-" + hex64, "nodekey:" + hex64,
		// names with numbers
		"token1 := lexer.Next()", "pass1 := compile(ast, first)", "pass2: optimised", `"key1": "value1"`, "key2=abc", "md5=" + hex64[:32],
		"sha256=" + hex64, "token2 = tokens[i+1]", "secret1 = getSecret(ctx)", "tokens10=12345", `map[string]int{"token1": 1}`,
		// others
		"passwd:         compat", "set -gx VIRTUAL_ENV __VENV_DIR__", "-debug-pass=Executions", "PWD=changed", "cvs://:pserver:anoncvs@host/cvs",
		"pass: pytest",
		// samples of documentation
		"postgres://user:password@localhost/db", "amqp://guest:guest@localhost", "OPENAI_API_KEY=sk-your-key", "key = AIzaSy" + "abcdefghijklmnopqrstuvwxyz1234567",
		"AIzaTesb6Tscfcni8vIpWZqNCXFDFslJtVSvFDqabcd123", `curl --user "xxx:yyy"`, "GR13489" + "4112312312312312312312312",
		"xoxp-572370529330-573807301142-572331691188-####################", "xoxp-1234-" + "1234-1234-4ddbc191d40ee098cbaae6f3523ada2d",
		"xoxe.xoxp-1-SlackAppConfigurationAccessTokenHere", "ntn_" + strings.Repeat("1234567890", 6),
		"sgp_local_d45b6G86aBb0F2Cee943902dbaDBCFCFDD1dA089", "sgp_5555555dAAAAA7777777CcccCFaaaaaaaaaaaaaa",
		"-----BEGIN PRIVATE KEY-----\nanything\n-----END PRIVATE KEY-----", "-----BEGIN OPENSSH PRIVATE KEY----------END OPENSSH PRIVATE KEY-----",
	} {
		if got := s.Text(line); got != line {
			t.Errorf("%s\nbecame\n%s", line, got)
		}
	}
}

// TestBesideHarmlessText has secrets that look like the text of [TestHarmlessTextStays].
func TestBesideHarmlessText(t *testing.T) {
	checkMarked(t, new(Scrubber), []string{
		"CREATE USER a IDENTIFIED BY '«hunter22»'", "alter user a identified by '«hunter22»'", `IDENTIFIED BY "«hunter22»"`,
		"grant all on x to a identified by '«hunter22»'", `class A { password: "«hunter22»" }`,
		"docker://ann:«hunter22»@registry.example.com", `"password": "«Passw0rt9»"`, "DATABASE_KEY = '«%s»'", "PRIVATE_SALT=«10abc.x0%sy»",
		"amqp://guest:«hunter22»@localhost", "postgres://user:«hunter22»@localhost", `curl --user "xxx:«hunter22»"`,
		"«AIzaSyNHxIf32IQ1a1yjl3ZJIqKZqzLAK1XhD" + "k-»", "public API key «AIzaSy%sq1w2e3r4t»",
		"key: «" + strings.Repeat("0f1e2d3c4b5a6978", 4) + "»",
		// forms that were shown
		"username=bob,password=«Xk9vQ2mWz7»,uid=0", "host=db1,password=«Xk9vQ2mWz7»,ssl=True", "jdbc:oracle:thin:scott/«tigerPW1»@//h:1521/x",
		"jdbc:oracle:thin:scott/«tiger»@h:1521:x",
		`System.setProperty("X_TOKEN", "«c82350e5d1f04a7b9c6e2d8f»")`, `os.Setenv("X_TOKEN", "«c82350e5d1f04a7b9c6e2d8f»")`,
		`os.Setenv("X_TOKEN", "«abcdefghqwer»")`,
		"password = \"\"\"\n«hunTer2xYz9qW»\"\"\"", "password = '''\n  «hunTer2xYz9qW»\n'''", "password = (\n    \"«hunTer2xYz9qW»\"\n)",
		"«s-s4t2ud-" + strings.Repeat("0f1e2d3c4b5a6978", 4) + "»",
	})
}
