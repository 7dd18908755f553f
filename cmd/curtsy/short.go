package main

import (
	"github.com/spf13/pflag"

	"curtsy/cmd/curtsy/config"
	"curtsy/crawler/crawldir"
)

// settings are those of a crawl.
type settings struct{ crawldir.Settings }

func (s *settings) flags(fs *pflag.FlagSet) { config.Flags(&s.Settings, fs) }

func resolve(s *settings, flags *pflag.FlagSet, file, crawl string) error {
	return config.Resolve(&s.Settings, flags, file, crawl)
}
