package docker

// StageArg is the argument that makes this program the first process of a container:
// see [Stage].
const StageArg = "sandbox-docker"
