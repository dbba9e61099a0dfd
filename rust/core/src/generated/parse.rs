//! Reads the expression of a generated column as its definition spells it, or as the server shows it.

use super::expression::{Comparison, Condition, Expression, Operator, integer_range};
use crate::schema::Table;

/// Deepest nesting of expressions that are read.
const DEEPEST: usize = 64;

/// Words with a meaning where a column's name could be.
const RESERVED: [&str; 14] =
    ["null", "true", "false", "case", "when", "then", "else", "end", "is", "not", "and", "or", "mod", "div"];

/// Parses an expression; returns none for everything that is not understood exactly.
pub(super) fn parse(text: &str, table: &Table) -> Option<Expression> {
    // Comments, and a `--` that begins one or is two signs, are not distinguished.
    if ["--", "/*", "#"].iter().any(|mark| text.contains(mark)) {
        return None;
    }
    let tokens = tokens(text)?;
    let mut parser = Parser { tokens: &tokens, place: 0, depth: 0, table };
    let expression = parser.sum()?;
    (parser.place == tokens.len()).then_some(expression)
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Token {
    /// A word as written; lower case is for keywords.
    Word(String),
    /// A name in backticks.
    Name(String),
    Number(i64),
    Symbol(&'static str),
}

/// Longer ones first.
const SYMBOLS: [&str; 14] = ["<>", "!=", "<=", ">=", "(", ")", "+", "-", "*", "%", ",", "=", "<", ">"];

fn tokens(text: &str) -> Option<Vec<Token>> {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '$' || !c.is_ascii();
    let mut found = Vec::new();
    let mut rest = text.trim_start();
    while let Some(first) = rest.chars().next() {
        if let Some(quoted) = rest.strip_prefix('`') {
            let (name, after) = quoted_name(quoted)?;
            found.push(Token::Name(name));
            rest = after;
        } else if is_word(first) {
            let end = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
            let (word, after) = rest.split_at(end);
            // `1.5` and `a.b`: neither a whole number nor a column's own name.
            if after.starts_with('.') {
                return None;
            }
            found.push(if first.is_ascii_digit() {
                Token::Number(word.parse().ok()?)
            } else {
                Token::Word(word.to_owned())
            });
            rest = after;
        } else {
            let symbol = SYMBOLS.into_iter().find(|symbol| rest.starts_with(symbol))?;
            found.push(Token::Symbol(symbol));
            rest = &rest[symbol.len()..];
            // `<=>` and the like.
            if matches!(symbol, "<>" | "!=" | "<=" | ">=" | "=" | "<" | ">") && rest.starts_with(['<', '>', '=']) {
                return None;
            }
        }
        rest = rest.trim_start();
    }
    Some(found)
}

/// Returns the name up to the closing backtick, and the rest.
fn quoted_name(text: &str) -> Option<(String, &str)> {
    let mut name = String::new();
    let mut rest = text;
    loop {
        let (part, after) = rest.split_once('`')?;
        name.push_str(part);
        match after.strip_prefix('`') {
            Some(more) => {
                name.push('`');
                rest = more;
            }
            None => return (!after.starts_with('.')).then_some((name, after)),
        }
    }
}

struct Parser<'p> {
    tokens: &'p [Token],
    place: usize,
    depth: usize,
    table: &'p Table,
}

impl Parser<'_> {
    fn peek(&self) -> Option<&Token> {
        self.tokens.get(self.place)
    }

    fn accept(&mut self, symbol: &str) -> bool {
        let there = matches!(self.peek(), Some(Token::Symbol(found)) if *found == symbol);
        self.place += usize::from(there);
        there
    }

    fn accept_word(&mut self, word: &str) -> bool {
        let there = matches!(self.peek(), Some(Token::Word(found)) if found.eq_ignore_ascii_case(word));
        self.place += usize::from(there);
        there
    }

    fn expect(&mut self, symbol: &str) -> Option<()> {
        self.accept(symbol).then_some(())
    }

    /// Parses `a + b - c`.
    fn sum(&mut self) -> Option<Expression> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return None;
        }
        let mut left = self.product()?;
        loop {
            let operator = if self.accept("+") {
                Operator::Plus
            } else if self.accept("-") {
                Operator::Minus
            } else {
                self.depth -= 1;
                return Some(left);
            };
            let right = self.product()?;
            left = operation(operator, left, right)?;
        }
    }

    fn product(&mut self) -> Option<Expression> {
        let mut left = self.factor()?;
        loop {
            let operator = if self.accept("*") {
                Operator::Times
            } else if self.accept("%") {
                Operator::Modulo
            } else {
                return Some(left);
            };
            let right = self.factor()?;
            left = operation(operator, left, right)?;
        }
    }

    fn factor(&mut self) -> Option<Expression> {
        if self.accept("-") {
            return match self.primary()? {
                inner if inner.is_integer() => Some(Expression::Negative(Box::new(inner))),
                _ => None,
            };
        }
        self.primary()
    }

    fn primary(&mut self) -> Option<Expression> {
        if self.accept("(") {
            let inner = self.sum()?;
            self.expect(")")?;
            return Some(inner);
        }
        let token = self.peek()?.clone();
        self.place += 1;
        match token {
            Token::Number(value) => Some(Expression::Literal(value)),
            Token::Name(name) => self.column(&name),
            Token::Word(word) => self.word(&word),
            Token::Symbol(_) => None,
        }
    }

    fn word(&mut self, word: &str) -> Option<Expression> {
        let lower = word.to_ascii_lowercase();
        if self.accept("(") {
            let value = match lower.as_str() {
                "if" => self.choice(),
                "ifnull" | "coalesce" => self.first(&lower),
                _ => None,
            }?;
            self.expect(")")?;
            return Some(value);
        }
        match lower.as_str() {
            "null" => Some(Expression::Null),
            "case" => self.case(),
            other if RESERVED.contains(&other) => None,
            _ => self.column(word),
        }
    }

    /// Parses the arguments after `IF(`.
    fn choice(&mut self) -> Option<Expression> {
        let condition = self.condition()?;
        self.expect(",")?;
        let yes = self.integer()?;
        self.expect(",")?;
        let no = self.integer()?;
        Some(Expression::Choice(Box::new(condition), Box::new(yes), Box::new(no)))
    }

    /// Parses the branches after `CASE`.
    fn case(&mut self) -> Option<Expression> {
        self.accept_word("when").then_some(())?;
        let condition = self.condition()?;
        self.accept_word("then").then_some(())?;
        let yes = self.integer()?;
        let no = if self.accept_word("else") { self.integer()? } else { Expression::Null };
        self.accept_word("end").then_some(())?;
        Some(Expression::Choice(Box::new(condition), Box::new(yes), Box::new(no)))
    }

    /// Parses the arguments after `IFNULL(` or `COALESCE(`.
    fn first(&mut self, function: &str) -> Option<Expression> {
        let mut all = vec![self.integer()?];
        while self.accept(",") {
            all.push(self.integer()?);
        }
        (function != "ifnull" || all.len() == 2).then_some(Expression::First(all))
    }

    fn integer(&mut self) -> Option<Expression> {
        self.sum().filter(Expression::is_integer)
    }

    fn condition(&mut self) -> Option<Condition> {
        if self.accept("(") {
            let inner = self.condition()?;
            self.expect(")")?;
            return Some(inner);
        }
        let left = self.sum()?;
        if self.accept_word("is") {
            let negated = self.accept_word("not");
            self.accept_word("null").then_some(())?;
            // In some contexts a NOT NULL date that is zero counts as NULL.
            let Expression::Column { index, .. } = left else { return None };
            let nullable = self.table.columns.get(index)?.nullable;
            return nullable.then_some(Condition::IsNull { column: index, negated });
        }
        let comparison = [
            ("<>", Comparison::NotEqual),
            ("!=", Comparison::NotEqual),
            ("<=", Comparison::LessOrEqual),
            (">=", Comparison::GreaterOrEqual),
            ("=", Comparison::Equal),
            ("<", Comparison::Less),
            (">", Comparison::Greater),
        ];
        let comparison = comparison.into_iter().find(|(symbol, _)| self.accept(symbol))?.1;
        let right = self.sum()?;
        (left.is_integer() && right.is_integer()).then_some(Condition::Compare(comparison, left, right))
    }

    fn column(&self, name: &str) -> Option<Expression> {
        let index = self.table.column_index(name)?;
        let integer = integer_range(self.table.columns.get(index)?).is_some();
        Some(Expression::Column { index, integer })
    }
}

fn operation(operator: Operator, left: Expression, right: Expression) -> Option<Expression> {
    (left.is_integer() && right.is_integer()).then(|| Expression::Operation(operator, left.into(), right.into()))
}
