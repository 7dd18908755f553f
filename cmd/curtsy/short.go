package main

import (
	"curtsy/cmd/curtsy/cli"
	"curtsy/storage/plainly"
)

func word(dir string) string { return plainly.Argument(dir) }

// Names of package cli that are not yet written with it.
const (
	exitDone       = cli.ExitDone
	exitFailed     = cli.ExitFailed
	exitFound      = cli.ExitFound
	exitIncomplete = cli.ExitIncomplete
	exitSignalled  = cli.ExitSignalled
	exitUsage      = cli.ExitUsage
)

type stdio = cli.Streams

var (
	inGroup      = cli.Group
	interrupted  = cli.Interrupted
	knownCommand = cli.KnownCommand
	nearest      = cli.Nearest
	oneDir       = cli.OneDir
	report       = cli.Report
	silent       = cli.Silent
	stdinUntil   = cli.StdinUntil
	untilSignal  = cli.UntilSignal
	usagef       = cli.Usagef
	writeJSON    = cli.WriteJSON
)
