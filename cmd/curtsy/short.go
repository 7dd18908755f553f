package main

import (
	"strconv"

	"github.com/spf13/pflag"

	"curtsy/cmd/curtsy/cli"
	"curtsy/cmd/curtsy/config"
	"curtsy/cmd/curtsy/text"
	"curtsy/crawler/crawldir"
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
	urlOf        = cli.URL
	usagef       = cli.Usagef
	writeJSON    = cli.WriteJSON
)

// oneLine makes a string from the web safe for a line of a terminal: what is not printable is escaped.
func oneLine(s string) string { return plainly.OneLine(s) }

// plain makes a string from the web safe for a terminal: what is not printable is escaped. New lines and tabs stay.
func plain(s string) string { return plainly.Lines(s) }

// formatSize writes bytes exactly where a unit allows it.
func formatSize(n int64) string { return plainly.Size(n) }

// several counts things.
func several(n int64, thing string) string { return plainly.Count(n, thing) }

func itoa64(n int64) string { return strconv.FormatInt(n, 10) }

// Names of package text, likewise.
const maxShown = text.MaxShown

var (
	because     = text.Because
	clockTime   = text.Clock
	entries     = text.Entries
	fromSeconds = text.Seconds
	roughSize   = text.RoughSize
	summaryText = text.Summary
)

// settings are those of a crawl.
type settings struct{ crawldir.Settings }

func (s *settings) flags(fs *pflag.FlagSet) { config.Flags(&s.Settings, fs) }

func resolve(s *settings, flags *pflag.FlagSet, file, crawl string) error {
	return config.Resolve(&s.Settings, flags, file, crawl)
}

var (
	envName   = config.EnvName
	readLayer = config.ReadLayer
	warnEnv   = config.WarnEnv
)
