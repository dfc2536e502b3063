// Questions that many ask, as SQL over the tables of schema.h.
#pragma once

#include <span>
#include <string_view>

namespace profd::lake {

struct Question {
  std::string_view name, what, sql;
};
std::span<const Question> Questions();
const Question* FindQuestion(std::string_view name);

}  // namespace profd::lake
