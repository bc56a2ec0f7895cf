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
	"slices"
	"syscall"
)

const (
	maxTextLength = 200 // in characters
	replyClosing  = 421 // the server closes the connection, whatever the command
)

// serverUnavailable is the result of a failure before the server accepted the sender.
func serverUnavailable(ctx context.Context, stage string, err error) Result {
	return Result{ServerUnavailable, stage + ": " + describe(ctx, err)}
}

// enhanced matches the status code at the start of an answer (RFC 3463).
var enhanced = regexp.MustCompile(`^([245]\.\d{1,3}\.\d{1,3})(\s|$)`)

// unknownMailbox are the status codes of an answer about the address of the recipient: it does not
// exist, is invalid or has moved, or its domain accepts no mail. All other codes are about the
// sender, the message or the server.
var unknownMailbox = []string{"5.1.1", "5.1.2", "5.1.3", "5.1.6", "5.1.10"}

// senderResult is the result of an answer to MAIL FROM.
func senderResult(ctx context.Context, err error) Result {
	r := commandResult(ctx, err)
	if r.Status == Bounced { // the server does not know the recipient yet
		r.Status = Rejected
	}
	return r
}

// recipientResult is the result of an error at RCPT TO.
func recipientResult(ctx context.Context, err error) Result {
	r := commandResult(ctx, err)
	answer, _ := errors.AsType[*textproto.Error](err)
	if r.Status != Rejected || enhanced.MatchString(answer.Msg) {
		return r
	}
	switch answer.Code {
	case 550, 551, 553:
		r.Status = RecipientRejected
	}
	return r
}

// commandResult is the result of an error before the content.
func commandResult(ctx context.Context, err error) Result {
	answer, answered := errors.AsType[*textproto.Error](err)
	if !answered || answer.Code < 500 {
		return Result{Deferred, describe(ctx, err)}
	}
	if code := enhanced.FindStringSubmatch(answer.Msg); code != nil && slices.Contains(unknownMailbox, code[1]) {
		return Result{Bounced, describe(ctx, err)}
	}
	return Result{Rejected, describe(ctx, err)}
}

// contentResult is the result of an error after the server asked for the content. Only an answer of
// the server settles it.
func contentResult(ctx context.Context, err error) Result {
	answer, answered := errors.AsType[*textproto.Error](err)
	switch {
	case answered && answer.Code >= 400:
		return commandResult(ctx, err)
	case answered && answer.Code >= 200 && answer.Code < 300:
		return Result{Sent, describe(ctx, err)}
	}
	return Result{Unknown, "no answer after the content: " + describe(ctx, err)}
}

// describe returns a short text for an error: the server's answer, or what happened to the
// connection.
func describe(ctx context.Context, err error) string {
	if answer, answered := errors.AsType[*textproto.Error](err); answered {
		return fmt.Sprintf("%03d %s", answer.Code, answer.Msg)
	}
	if errors.Is(ctx.Err(), context.Canceled) {
		return "canceled"
	}
	failed, isNetError := errors.AsType[net.Error](err)
	if ctx.Err() != nil || isNetError && failed.Timeout() || errors.Is(err, os.ErrDeadlineExceeded) {
		return "timed out"
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return "the server closed the connection"
	}
	if code, is := errors.AsType[syscall.Errno](err); is {
		return code.Error()
	}
	return err.Error()
}

// singleLine returns a text as one line of at most maxTextLength characters.
func singleLine(s string) string {
	s = clean(s)
	if len(s) <= maxTextLength {
		return s
	}
	if chars := []rune(s); len(chars) > maxTextLength {
		return string(chars[:maxTextLength-1]) + "…"
	}
	return s
}
