//go:build !amd64

package main

import "errors"

func int80(string) error { return errors.New("not on this processor") }
