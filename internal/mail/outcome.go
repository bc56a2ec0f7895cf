package mail

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/textproto"
	"os"
	"regexp"
	"syscall"
)

const (
	textMost = 200 // characters
	closing  = 421 // the server ends the connection with it, whatever it was asked
)

// trouble is the result of what failed before the server had taken the sender.
func trouble(ctx context.Context, stage string, err error) Result {
	return Result{ServerUnavailable, stage + ": " + why(ctx, err)}
}

// enhanced is the code that an answer may begin with (RFC 3463).
var enhanced = regexp.MustCompile(`^[245]\.(\d{1,3})\.\d{1,3}(\s|$)`)

// ofRecipient is the result of an error at RCPT TO.
func ofRecipient(ctx context.Context, err error) Result {
	r := ofCommand(ctx, err)
	if answer, answered := errors.AsType[*textproto.Error](err); answered && r.Status == Rejected && isNoMailbox(answer) {
		r.Status = Bounced
	}
	return r
}

// isNoMailbox tells whether an answer speaks of the address. The same codes stand for policy, which an enhanced code tells apart.
func isNoMailbox(answer *textproto.Error) bool {
	switch answer.Code {
	case 550, 551, 553:
		found := enhanced.FindStringSubmatch(answer.Msg)
		return found == nil || answer.Msg[0] == '5' && found[1] == "1"
	}
	return false
}

// ofCommand is the result of an error at a command after the server has taken the sender and before it asked for the content.
func ofCommand(ctx context.Context, err error) Result {
	if answer, answered := errors.AsType[*textproto.Error](err); answered && answer.Code >= 500 {
		return Result{Rejected, why(ctx, err)}
	}
	return Result{Deferred, why(ctx, err)}
}

// ofContent is the result of an error after the server had asked for the content: only what it said of it tells.
func ofContent(ctx context.Context, err error) Result {
	answer, answered := errors.AsType[*textproto.Error](err)
	switch {
	case answered && answer.Code >= 500:
		return Result{Rejected, why(ctx, err)}
	case answered && answer.Code >= 400:
		return Result{Deferred, why(ctx, err)}
	case answered && answer.Code >= 200 && answer.Code < 300:
		return Result{Sent, why(ctx, err)}
	}
	return Result{Unknown, "no answer to the content: " + why(ctx, err)}
}

// why is an error in a few words: the server's own, or what happened to the connection.
func why(ctx context.Context, err error) string {
	if answer, answered := errors.AsType[*textproto.Error](err); answered {
		return fmt.Sprintf("%03d %s", answer.Code, answer.Msg)
	}
	if errors.Is(ctx.Err(), context.Canceled) {
		return "cancelled"
	}
	if failed, is := errors.AsType[net.Error](err); ctx.Err() != nil || is && failed.Timeout() || errors.Is(err, os.ErrDeadlineExceeded) {
		return "no answer in time"
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return "the server hung up"
	}
	if code, is := errors.AsType[syscall.Errno](err); is {
		return code.Error()
	}
	return err.Error()
}

// line is a text of a few words from anywhere as one line.
func line(s string) string {
	s = clean(s)
	if len(s) <= textMost {
		return s
	}
	if chars := []rune(s); len(chars) > textMost {
		return string(chars[:textMost-1]) + "…"
	}
	return s
}
