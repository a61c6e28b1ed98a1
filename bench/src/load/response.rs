//! Where one answer ends and the next begins: the status line, `Content-Length`, and a count of bytes.

/// The bytes are not an answer that a bench accepts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct NotAnAnswer;

/// A head longer than this is not one that a bench's server sends.
const HEAD_LEN_MAX: usize = 8192;

/// Counts an answer's bytes.
#[derive(Default, Debug)]
pub(crate) struct ResponseReader {
    /// Body bytes still to come, once the head is read.
    body_left: Option<u64>,
    /// A head that came in pieces.
    partial: Vec<u8>,
}

impl ResponseReader {
    /// Takes bytes as they arrive. True when an answer is whole; bytes behind it are an error, for only
    /// one request is under way.
    #[inline]
    pub(crate) fn read(&mut self, data: &[u8]) -> Result<bool, NotAnAnswer> {
        let body = match self.body_left {
            Some(_) => data,
            None if self.partial.is_empty() => match self.read_head(data)? {
                Some(head_len) => &data[head_len..],
                None => return Ok(false),
            },
            None => return self.read_pieces(data),
        };
        self.count(body.len() as u64)
    }

    fn read_pieces(&mut self, data: &[u8]) -> Result<bool, NotAnAnswer> {
        let mut bytes = std::mem::take(&mut self.partial);
        bytes.extend_from_slice(data);
        match self.read_head(&bytes)? {
            Some(head_len) => self.count((bytes.len() - head_len) as u64),
            None => Ok(false),
        }
    }

    fn read_head(&mut self, data: &[u8]) -> Result<Option<usize>, NotAnAnswer> {
        let mut headers = [httparse::EMPTY_HEADER; 32];
        let mut response = httparse::Response::new(&mut headers);
        match response.parse(data).map_err(|_| NotAnAnswer)? {
            httparse::Status::Partial if data.len() > HEAD_LEN_MAX => Err(NotAnAnswer),
            httparse::Status::Partial => {
                self.partial = data.to_vec();
                Ok(None)
            }
            httparse::Status::Complete(head_len) => {
                self.body_left = Some(body_len(&response)?);
                Ok(Some(head_len))
            }
        }
    }

    fn count(&mut self, len: u64) -> Result<bool, NotAnAnswer> {
        let left = self.body_left.unwrap_or(0).checked_sub(len).ok_or(NotAnAnswer)?;
        self.body_left = (left > 0).then_some(left);
        Ok(left == 0)
    }
}

fn body_len(response: &httparse::Response<'_, '_>) -> Result<u64, NotAnAnswer> {
    if response.code != Some(200) {
        return Err(NotAnAnswer);
    }
    let is_length = |h: &&httparse::Header<'_>| h.name.eq_ignore_ascii_case("content-length");
    let value = response.headers.iter().find(is_length).ok_or(NotAnAnswer)?.value;
    std::str::from_utf8(value).ok().and_then(|text| text.trim().parse().ok()).ok_or(NotAnAnswer)
}

#[cfg(test)]
#[path = "response_tests.rs"]
mod tests;
