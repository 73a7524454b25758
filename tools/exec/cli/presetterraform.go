package cli

// terraform runs providers and whatever else the configuration in the directory
// names, and these have its credentials: most of what it does is for a person
// to agree to.
func terraform() preset {
	return preset{
		grammar: grammar{single: true, dashes: true},
		reads: `
			version
			output
			workspace list|show
			state list
			metadata functions
			help
		`,
		changes: `
			init|plan|apply|validate|import|taint|untaint|refresh|get|graph|show|fmt|modules
			providers
			state show|mv
			workspace select|new
		`,
		deletes: `
			state rm
			apply --replace
			plan --replace
		`,
		refused: []refusal{
			{"it destroys everything that the configuration describes", "destroy\n--destroy"},
			{"it works in another directory", "--chdir"},
			{"it takes a lock away from whoever holds it", "force-unlock\n--lock=false|0|f"},
			{"it shows or replaces the whole state, secrets included", "state pull|push|replace-provider\nshow --json\noutput *\noutput --raw|--json\nstate show --json\nworkspace delete"},
			{"it evaluates whatever it is given", "console\ntest\nstacks\nquery\nrpcapi"},
			{"it shows or changes how terraform logs in", "login|logout"},
			{"it takes programs or code from elsewhere", "--plugin-dir\n--from-module\n--get-plugins\nproviders lock*|mirror*"},
		},
		doing: "terraform runs what the configuration in the directory names, with its credentials",
		env: append(everywhere(), "TF_IN_AUTOMATION=1", "TF_INPUT=0", "TF_CLI_CONFIG_FILE=/dev/null", "CHECKPOINT_DISABLE=1", "TF_LOG=off",
			"TF_CLI_ARGS=-no-color"),
		seconds: 300,
	}
}
