package outbound

import "errors"

// ErrTooLong is how a body ends that is longer than was asked for.
var ErrTooLong = errors.New("the body is longer than was asked for")
