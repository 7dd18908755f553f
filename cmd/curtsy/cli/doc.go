// Package cli is the contract that all commands share: streams, exit codes and the errors that carry them, arguments and
// flags that are checked before there is any work, help in groups, --json, and an end by signal. It knows no command.
//
// A command returns an error; Report prints it, with what to do about it, and says which exit code it has.
package cli
